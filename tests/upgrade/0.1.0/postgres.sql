-- A PostgreSQL database of doorward 0.1.0, for psql.

CREATE TABLE public.account_secrets (
    id bigint NOT NULL,
    secret bytea NOT NULL
);

CREATE TABLE public.changes (
    id uuid NOT NULL,
    user_id uuid,
    void boolean NOT NULL,
    at timestamp with time zone NOT NULL
);

CREATE TABLE public.cookie_secrets (
    id bigint NOT NULL,
    secret bytea NOT NULL
);

CREATE TABLE public.ended_tokens (
    token_id uuid NOT NULL,
    change_id uuid NOT NULL,
    ended_at bigint NOT NULL
);

CREATE TABLE public.foreign_hashes (
    prefix text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE public.imported_hashes (
    user_id uuid NOT NULL,
    prefix text NOT NULL COLLATE pg_catalog."C",
    imported_at bigint NOT NULL
);

CREATE TABLE public.invitations (
    email_key text NOT NULL COLLATE pg_catalog."C",
    id uuid NOT NULL,
    email text NOT NULL,
    roles text NOT NULL,
    digest bytea NOT NULL,
    invited_by uuid,
    is_mailed boolean NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    guesses bigint NOT NULL
);

CREATE TABLE public.login_failures (
    account bytea NOT NULL,
    recovered_at bigint NOT NULL,
    changed_at timestamp with time zone NOT NULL
);

CREATE TABLE public.one_time_secrets (
    id uuid NOT NULL,
    purpose text NOT NULL,
    user_id uuid NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL COLLATE pg_catalog."C",
    user_email text NOT NULL,
    password_version bigint NOT NULL,
    digest bytea NOT NULL,
    expires_at bigint NOT NULL,
    guesses bigint NOT NULL
);

CREATE TABLE public.outbox (
    id uuid NOT NULL,
    user_id uuid,
    recipient text NOT NULL,
    language text NOT NULL,
    message text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    due_at bigint NOT NULL,
    attempts bigint NOT NULL,
    claimed_until bigint NOT NULL,
    failure text,
    given_up_at bigint,
    turn_at bigint
);

CREATE TABLE public.schema_versions (
    version bigint NOT NULL
);

CREATE TABLE public.sessions (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    token_id uuid NOT NULL,
    created_at bigint NOT NULL,
    last_seen_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    idle_ms bigint NOT NULL,
    authenticated_at bigint NOT NULL,
    methods text NOT NULL,
    address text NOT NULL,
    user_agent text NOT NULL
);

CREATE TABLE public.signing_keys (
    slot text NOT NULL,
    kid text NOT NULL,
    pem text NOT NULL,
    until bigint
);

CREATE TABLE public.unfinished_moves (
    id bigint NOT NULL
);

CREATE TABLE public.used_codes (
    id uuid NOT NULL,
    expires_at bigint NOT NULL
);

CREATE TABLE public.users (
    id uuid NOT NULL,
    name text NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL COLLATE pg_catalog."C",
    email_verified boolean NOT NULL,
    password_hash text,
    password_version bigint NOT NULL,
    roles text NOT NULL,
    disabled boolean NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    last_login_at bigint,
    known_networks text DEFAULT ''::text NOT NULL
);

COPY public.account_secrets (id, secret) FROM stdin;
1	\\x6a7178f3f9ab311b9508ee88cbdd5b8315cf56f462e9d6606f3bc7d7f6414dc5
\.

COPY public.changes (id, user_id, void, at) FROM stdin;
2b38d6dd-1305-4cf3-ba7b-b970a4a1b45c	\N	f	2026-11-17 18:15:35.191391+00
e6f34ab7-bdae-4d94-96f7-21edab0da606	\N	f	2026-11-17 18:15:36.212059+00
25f02233-982d-4afa-b881-763dec78a429	\N	f	2026-11-17 18:15:46.345319+00
f99276c9-acec-4f8c-bfa7-e6bdd85038e7	\N	f	2026-11-17 18:15:47.864152+00
04d9430f-c6c8-4bc1-b451-1f28ef4dc29d	7413afc7-6f8c-4bd3-87f9-d37d057d7fae	f	2026-11-17 18:15:48.283738+00
07e5a448-0112-47c9-80cc-2a5a02578422	7413afc7-6f8c-4bd3-87f9-d37d057d7fae	f	2026-11-17 18:15:48.396826+00
1c7f5b6d-5744-42bd-9626-128641421935	7413afc7-6f8c-4bd3-87f9-d37d057d7fae	f	2026-11-17 18:15:48.883857+00
82c7f49e-759f-472c-a55c-fb167e09d51c	7413afc7-6f8c-4bd3-87f9-d37d057d7fae	f	2026-11-17 18:15:48.917407+00
f0195d8a-3750-415c-9d6f-3215689d7ba9	7413afc7-6f8c-4bd3-87f9-d37d057d7fae	f	2026-11-17 18:15:48.936252+00
5583a3ba-e28c-4602-8687-df917f8d0160	7413afc7-6f8c-4bd3-87f9-d37d057d7fae	f	2026-11-17 18:15:48.958612+00
4b583509-3870-4fa5-9d78-c1a59535bb3c	1aa4efb7-6db3-4b00-af31-302ccdfc10df	f	2026-11-17 18:15:48.994569+00
8d85cea0-d42f-4b16-88ac-ea85e8994942	6bb525a5-798c-4023-83e0-8eb1a45b85f0	f	2026-11-17 18:15:49.025663+00
8ddc047b-f679-4b68-ad89-ff58925faad3	6bb525a5-798c-4023-83e0-8eb1a45b85f0	f	2026-11-17 18:15:49.051283+00
af56fe60-a706-46bd-9b56-1cac1f1e313b	a3b43317-1964-4408-b900-80800dfbd1f7	f	2026-11-17 18:15:49.105863+00
80dd4a84-056e-4184-b5a8-87ced7ced99e	a3b43317-1964-4408-b900-80800dfbd1f7	f	2026-11-17 18:15:49.62524+00
43fe56c0-49ab-4973-a6e0-b1a0234b7971	7d9537ae-d988-4afc-8b1a-b3aa3bac5d2a	f	2026-11-17 18:15:49.67709+00
2e279ce6-12b2-413e-bd3c-da2287ae7777	7d9537ae-d988-4afc-8b1a-b3aa3bac5d2a	f	2026-11-17 18:15:49.712646+00
0ffbda3b-1439-4862-a731-c8dc9acaf880	7cbb48aa-a29b-45b9-a184-1e03ba5a269e	f	2026-11-17 18:15:49.78285+00
5d659b19-c59a-46f3-9745-f54e15b29cfa	7cbb48aa-a29b-45b9-a184-1e03ba5a269e	f	2026-11-17 18:15:49.805759+00
7fc56e81-0438-4345-880e-fca7282ccbf7	7cbb48aa-a29b-45b9-a184-1e03ba5a269e	f	2026-11-17 18:15:49.848921+00
40e35477-a448-492d-a15b-1255586d92e4	1f049be6-d98d-4a2a-9c50-89a5d9774d08	f	2026-11-17 18:15:49.891049+00
77287b84-e178-43ce-b30e-1910cba569af	1f049be6-d98d-4a2a-9c50-89a5d9774d08	f	2026-11-17 18:15:49.918777+00
f401494a-79d6-407d-b1de-ad5fbfa643f9	187951b3-67c2-4161-81c6-808a83ef66d8	f	2026-11-17 18:15:49.965398+00
96c36628-c953-4fb0-bcbb-abc718ac6524	187951b3-67c2-4161-81c6-808a83ef66d8	f	2026-11-17 18:15:50.538977+00
7b747d36-c0d8-430d-87be-5fbdb143b2e6	9bca40ee-e66b-43fd-af7d-3ade39e3e0bf	f	2026-11-17 18:15:50.986923+00
d60f43bf-2c07-4d32-b9f0-71e10a0f0956	7413afc7-6f8c-4bd3-87f9-d37d057d7fae	f	2026-11-17 18:15:51.099773+00
299796ca-2b43-4b37-add3-ae826152e9d1	7413afc7-6f8c-4bd3-87f9-d37d057d7fae	f	2026-11-17 18:15:51.119976+00
f9bb4f83-b9c7-4a6e-9519-726315eaf395	2292c6b7-ed2f-4592-9582-ace637d9e3f0	f	2026-11-17 18:15:51.602015+00
2f17578a-2d09-4d81-8447-c193fe8f4a5e	a8c53d7f-9f2a-4a15-85bb-8ce9a7461378	f	2026-11-17 18:15:51.627456+00
24f5c196-8eb1-49fc-8d2d-be2af991dfbd	7413afc7-6f8c-4bd3-87f9-d37d057d7fae	f	2026-11-17 18:15:52.435554+00
cd99e6b0-5144-4bb4-8b09-fd93172b9b1e	7413afc7-6f8c-4bd3-87f9-d37d057d7fae	f	2026-11-17 18:15:52.44126+00
\.

COPY public.cookie_secrets (id, secret) FROM stdin;
1	\\x404cf58cee07b0b7a89f85a55b365ff2bb46bac8c5708d3ae508e3b91d00ed72
\.

COPY public.ended_tokens (token_id, change_id, ended_at) FROM stdin;
b054a302-b840-47cd-acd6-67c59ca571e5	82c7f49e-759f-472c-a55c-fb167e09d51c	1794939348917
de61422a-ebce-47fe-83d9-5c47b28efb7e	80dd4a84-056e-4184-b5a8-87ced7ced99e	1794939349539
2564fc0d-7c2d-4bb3-87d1-393a662056b0	299796ca-2b43-4b37-add3-ae826152e9d1	1794939351119
48772146-2b9b-4c71-8821-671b0abf881e	cd99e6b0-5144-4bb4-8b09-fd93172b9b1e	1794939352441
\.

COPY public.foreign_hashes (prefix) FROM stdin;
$2a$06$
\.

COPY public.imported_hashes (user_id, prefix, imported_at) FROM stdin;
28f3ec07-c035-5272-a469-25a5950003e0	$2a$06$	1794939350811
a15b3e22-9cef-5b93-9acc-e2a8609df3b1	$2a$06$	1794939350811
\.

COPY public.invitations (email_key, id, email, roles, digest, invited_by, is_mailed, created_at, expires_at, guesses) FROM stdin;
judy@example.com	33180f79-dd8d-4b51-95d6-d8ba4368cae5	judy@example.com		\\x192b4db4c06688098deb2080f25d278665e40491ed805ddbca8e5c5eb8180e94	7413afc7-6f8c-4bd3-87f9-d37d057d7fae	t	1794939351110	1795544151110	0
ken@example.com	274f8e51-003c-43b0-8f35-e0ea075abcea	ken@example.com	staff	\\x41fd5be20dc66102ca87a8ce57ab55ab1ba804ed77ed6e54aa4fa92af329b21f	\N	f	1794939351476	1802715351476	0
\.

COPY public.login_failures (account, recovered_at, changed_at) FROM stdin;
\\x91ac61261c3aee62226633f7abd2840d	1795198551442	2026-11-17 18:15:51.443191+00
\.

COPY public.one_time_secrets (id, purpose, user_id, email, email_key, user_email, password_version, digest, expires_at, guesses) FROM stdin;
980def3d-8ce9-4d4a-86b0-6f1b98f485d8	verify_email	1aa4efb7-6db3-4b00-af31-302ccdfc10df	bob@example.com	bob@example.com	bob@example.com	0	\\xec440b78b1cbb013cba425abe9af6188759657b7e53cefcd0c3e6d0ac813549e	1795198548994	0
f34f4f79-82c2-483a-8905-1ee7ab414bdc	sign_in	6bb525a5-798c-4023-83e0-8eb1a45b85f0	carol@example.com	carol@example.com	carol@example.com	0	\\xdaff41977fb5a186d1509e810327f0c6c50f81c3ac8d20477fa69c251a57aead	1794940249055	0
c6942913-39dd-4bea-b731-60fd15fa9d97	verify_email	a3b43317-1964-4408-b900-80800dfbd1f7	dan@example.com	dan@example.com	dan@example.com	0	\\xe05e06286c2575d78b2e6caeccfe5748cde82e053820171e1ca1eefa57fcbd4f	1795198549105	0
d0165490-27fc-480a-8b7d-b6694bec7aaa	change_email	7d9537ae-d988-4afc-8b1a-b3aa3bac5d2a	erin.new@example.com	erin.new@example.com	erin@example.com	0	\\x7c3fc441e2e4c51d7b1d71d0aa76f72d4dc65d6f849470237f2afac4754a64b0	1795198549741	0
83cf18c7-3068-4991-aea3-593e365e862c	restore_email	7cbb48aa-a29b-45b9-a184-1e03ba5a269e	ivan@example.com	ivan@example.com	ivan@example.com	0	\\x28fe358ae3e5a26f14bb5fd066b61c1522ef24c6afdbd25f4f378dd81312809f	1795544149848	0
fb29abf5-23cc-4dff-9d07-2441bd86bc53	reset_password	1f049be6-d98d-4a2a-9c50-89a5d9774d08	frank@example.com	frank@example.com	frank@example.com	0	\\x47f05db4d9f9692a6dcc46ca171701852c32d99617d11a5714e3b2132e0134b6	1794942949922	0
eb2a2686-4ad0-4c7e-985e-b9080f9cc23c	verify_email	187951b3-67c2-4161-81c6-808a83ef66d8	grace@example.com	grace@example.com	grace@example.com	0	\\x57a6ecd34f283e1005efc25dd1f3ec5b4ffd13476573f513abb3f4d0d36a1139	1795198549964	0
535550f0-c8c3-46ac-957f-4532cee6447c	operator_reset	187951b3-67c2-4161-81c6-808a83ef66d8	grace@example.com	grace@example.com	grace@example.com	0	\\x00b78ae4af011dc57de97711f8218f592deb0f163c7cda65ea8d9e13e6944254	1794941150302	0
cc0a32d9-4c50-4f9e-997b-0dde01d7d714	verify_email	9bca40ee-e66b-43fd-af7d-3ade39e3e0bf	laura@example.com	laura@example.com	laura@example.com	0	\\x068948a7681aa3a17d3acbc0df86553a641517f92758a47840bb1be8ffec2555	1795198550986	0
2c41b624-d5a2-4270-828e-bc59185be7f3	verify_email	2292c6b7-ed2f-4592-9582-ace637d9e3f0	hal@example.com	hal@example.com	hal@example.com	0	\\x271bb5b1ebffa7aeee63c37eba0eda54bf636caa6c0118c9b19de453e2285b08	1795198551601	0
d446dec0-69ce-4202-92b1-a67d830df8d8	verify_email	a8c53d7f-9f2a-4a15-85bb-8ce9a7461378	gil@example.com	gil@example.com	gil@example.com	0	\\x8ce11ec484307462601045fc3da94f8bad1f03f258ac79b5673c40f3a2e3fed6	1795198551627	0
\.

COPY public.outbox (id, user_id, recipient, language, message, created_at, expires_at, due_at, attempts, claimed_until, failure, given_up_at, turn_at) FROM stdin;
99e8e873-47ae-4764-b686-517e731ad6e7	2292c6b7-ed2f-4592-9582-ace637d9e3f0	hal@example.com	en	{"verify_email":{"one_time":"2c41b624-d5a2-4270-828e-bc59185be7f3"}}	1794939351601	1795025751601	1794939411635	1	0	RCPT TO: 451 4.7.1 greylisted, try again later	\N	\N
4708a2bb-2463-4346-b206-83e4f91aa727	a8c53d7f-9f2a-4a15-85bb-8ce9a7461378	gil@example.com	en	{"verify_email":{"one_time":"d446dec0-69ce-4202-92b1-a67d830df8d8"}}	1794939351627	1795025751627	1794939351627	1	0	RCPT TO: 550 5.1.1 no such mailbox	1794939351652	1795025751627
\.

COPY public.schema_versions (version) FROM stdin;
1
\.

COPY public.sessions (id, user_id, token_id, created_at, last_seen_at, expires_at, idle_ms, authenticated_at, methods, address, user_agent) FROM stdin;
4a444774-bb52-43e6-a3e6-353618f5a7a3	7413afc7-6f8c-4bd3-87f9-d37d057d7fae	fb7586a6-a2a4-4d8f-87ba-cbe019f47303	1794939348283	1794939348283	1802715348283	0	1794939348283	pwd	127.0.0.1	
97bdf25a-1bf9-44d2-8fe3-7eea7b42b919	7413afc7-6f8c-4bd3-87f9-d37d057d7fae	e97d1a7e-7dc9-4c83-a476-032aef6db681	1794939348933	1794939348933	1802715348933	0	1794939348933	pwd	127.0.0.1	
4b38c61f-d5ae-47d3-92ca-c52ba698d64e	7413afc7-6f8c-4bd3-87f9-d37d057d7fae	bb1565ec-6acd-4124-b817-8510f8a6b91f	1794939348956	1794939348956	1802715348956	0	1794939348956	pwd	127.0.0.1	Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0
f9b2c5fd-c409-43b9-b7d4-9c3ed442123d	1aa4efb7-6db3-4b00-af31-302ccdfc10df	0c6ec140-a56f-499e-a859-6d0d73d21c38	1794939348994	1794939348994	1802715348994	0	1794939348994	pwd	127.0.0.1	
116e48ca-b75e-4e96-8f64-457c648283d0	6bb525a5-798c-4023-83e0-8eb1a45b85f0	f91a1ebd-9dd2-4369-a7c8-b3fbe00b5a33	1794939349024	1794939349024	1802715349024	0	1794939349024		127.0.0.1	
2000c6eb-f1de-4d92-92b5-fe9534857d4a	7d9537ae-d988-4afc-8b1a-b3aa3bac5d2a	41a80713-ff5e-49e9-a311-116a201e4352	1794939349676	1794939349676	1802715349676	0	1794939349676	pwd	127.0.0.1	
cfe42122-183e-4b79-85db-f8e872caf375	7cbb48aa-a29b-45b9-a184-1e03ba5a269e	cca29cac-e134-4861-a939-43975c9c2138	1794939349782	1794939349782	1802715349782	0	1794939349782	pwd	127.0.0.1	
b60e51c2-1e91-4709-b11b-823143651bd6	1f049be6-d98d-4a2a-9c50-89a5d9774d08	e950379e-cf9b-4a03-8b77-508a3abd0ba6	1794939349890	1794939349890	1802715349890	0	1794939349890	pwd	127.0.0.1	
67efd0ec-cf44-465a-906c-8c9c4f4e6dda	187951b3-67c2-4161-81c6-808a83ef66d8	6c2fec8d-44db-4370-bead-14373aaed60c	1794939349964	1794939349964	1802715349964	0	1794939349964	pwd	127.0.0.1	
99f8255f-16ce-488e-b40f-a375a41a01d6	9bca40ee-e66b-43fd-af7d-3ade39e3e0bf	b21476ea-dfad-4643-bf1b-6e7fa88ea84d	1794939350986	1794939350986	1802715350986	0	1794939350986	pwd	127.0.0.1	
0fc294a5-ed32-4aa5-978f-ff0c9e91e8f3	2292c6b7-ed2f-4592-9582-ace637d9e3f0	3dbe4166-4f6a-4cb8-9cdc-5c7634a0dc78	1794939351601	1794939351601	1802715351601	0	1794939351601	pwd	127.0.0.1	
c0aba78f-f8da-44f9-bfd2-f65ce157f386	a8c53d7f-9f2a-4a15-85bb-8ce9a7461378	bff8f87a-369e-45fa-b88e-c752771650b5	1794939351627	1794939351627	1802715351627	0	1794939351627	pwd	127.0.0.1	
\.

COPY public.signing_keys (slot, kid, pem, until) FROM stdin;
retired sLO881AQNod7oXL_70FhcPRoWgI1CZ8I4Wew0qxf58Y	sLO881AQNod7oXL_70FhcPRoWgI1CZ8I4Wew0qxf58Y	-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg9aIpLwEkD9eh9VCD\nQA8IQFJ5FyjViJFd31MIfo/FLcWhRANCAARqqPlq3ZfVflmFmxd92FxItbeL/dhp\nY2iF3Uubq8cH9SKMNtC6QQMtBV8u6PYfAhaAqqZELXdeViF19a/JoIFM\n-----END PRIVATE KEY-----\n	1797531406344
signing	WVKabvzOaiIgr14GHbqWpqy7WKwUZq_YIj8fcuZIbuA	-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgBOExfG7rJGU0Qj9n\nVgVEIaRRen1bAqH8LX+OFJ4VMeehRANCAASyZLnzzSKUBXB5uw6RR4FiNYnMQ8wU\nJFog6MIvl5zbTSY9MTxfbKs9Cq2gZu/DP0vpCMkpIYqkD6azC4XVR6o6\n-----END PRIVATE KEY-----\n	\N
next	JukId8XqsLFbckyCOMUIW2DuBJo1fr_4CPK0r4woFVo	-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgb16N7XuNRaApaQ91\nX85knqwTGExBH3HX8bwoWNCS/KuhRANCAATeu2XQ5cuJdBJpg2Apl3LVDWhrgTXY\nkQOluTQVvPvAXy12UY4XJ2gC1boZA91LpiWx/X+hgXRq0XfgVvHrPU9z\n-----END PRIVATE KEY-----\n	1795544147801
\.

COPY public.unfinished_moves (id) FROM stdin;
\.

COPY public.used_codes (id, expires_at) FROM stdin;
\.

COPY public.users (id, name, email, email_key, email_verified, password_hash, password_version, roles, disabled, created_at, updated_at, last_login_at, known_networks) FROM stdin;
1aa4efb7-6db3-4b00-af31-302ccdfc10df	Bob	bob@example.com	bob@example.com	f	$argon2id$v=19$m=19456,t=2,p=1$U+o7W4373sA0bQhDTM+TEg$i6Mwlsd9uyQFx5C3i7Fnp8xp2IBcZQtE9QZbC21ZPpk	0		f	1794939348994	1794939348994	\N	
6bb525a5-798c-4023-83e0-8eb1a45b85f0	Carol	carol@example.com	carol@example.com	t	\N	0		f	1794939349024	1794939349050	\N	
a3b43317-1964-4408-b900-80800dfbd1f7	Dan	dan@example.com	dan@example.com	f	$argon2id$v=19$m=19456,t=2,p=1$pSbkBdbjuWTzWWZRRySXQg$W7+E8kvFj7n+fCMtAqP0kltY1noQRZayxfsdilrPtcA	0		t	1794939349105	1794939349105	\N	
7d9537ae-d988-4afc-8b1a-b3aa3bac5d2a	Erin	erin@example.com	erin@example.com	t	$argon2id$v=19$m=19456,t=2,p=1$U3z1RlpLAOMlkhyDPnpcAg$ENcAKZ9OXWrVIwGXJPGauiyeXZvmm/Uzd2ARZZYqnK8	0		f	1794939349676	1794939349712	\N	
7cbb48aa-a29b-45b9-a184-1e03ba5a269e	Ivan	ivan.new@example.com	ivan.new@example.com	t	$argon2id$v=19$m=19456,t=2,p=1$qKU2G4iQ18SanASeUZDKrA$crNLGJAJLFITTQ78i0JbvffVfMkXt941SpIEYl/YZTQ	0		f	1794939349782	1794939349848	\N	
1f049be6-d98d-4a2a-9c50-89a5d9774d08	Frank	frank@example.com	frank@example.com	t	$argon2id$v=19$m=19456,t=2,p=1$4J0EiD2RAU4+XfNOQ+/YGg$Li0IcttUUJx/6xE2mL38aSBqonZfGWL27+XWPUof8HI	0		f	1794939349890	1794939349918	\N	
187951b3-67c2-4161-81c6-808a83ef66d8	Grace	grace@example.com	grace@example.com	f	$argon2id$v=19$m=19456,t=2,p=1$EbP/o2M5h4pMbGJf6yNZ3Q$RLoFK7e8OyxFnJv5fOSjXg7E7IDrgZYM9fVNuhFLksQ	0		f	1794939349964	1794939349964	\N	
28f3ec07-c035-5272-a469-25a5950003e0	Heidi	heidi@example.com	heidi@example.com	f	$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe	0		f	1794939350811	1794939350811	\N	
a15b3e22-9cef-5b93-9acc-e2a8609df3b1	Old Heidi	old.heidi@example.com	old.heidi@example.com	f	$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe	0		f	1794939350811	1794939350811	\N	
9bca40ee-e66b-43fd-af7d-3ade39e3e0bf	Laura	laura@example.com	laura@example.com	f	$argon2id$v=19$m=19456,t=2,p=1$2nDFEMC/WYJJZ069J1g6bA$jl3+H+clcJWRd9lEi1cFGO6BgFvl7G+UecynCDmQZgA	0		f	1794939350986	1794939350986	\N	
2292c6b7-ed2f-4592-9582-ace637d9e3f0	Hal	hal@example.com	hal@example.com	f	$argon2id$v=19$m=19456,t=2,p=1$IqUvrklmy3DIkGsq4ythfA$JB5qI5N8/27PXt3iqGMHHfML+2pGO0c1LUjOjobDj10	0		f	1794939351601	1794939351601	\N	
a8c53d7f-9f2a-4a15-85bb-8ce9a7461378	Gil	gil@example.com	gil@example.com	f	$argon2id$v=19$m=19456,t=2,p=1$L+ja57y1k/i7xo4jN3us4A$vncHArAp9ReEeML9Wv8dlaroPFjy1o7rP0kZpaf1hzE	0		f	1794939351626	1794939351626	\N	
7413afc7-6f8c-4bd3-87f9-d37d057d7fae	Ada	ada@example.com	ada@example.com	t	$argon2id$v=19$m=19456,t=2,p=1$WFaHG3/5rLchoeDqn4HIdQ$5lx0jmakRpPxrEyJhlUXTkt4otRA8GQ4X76NZQsZAl8	0	staff	f	1794939348283	1794939348762	1794939352433	
\.

ALTER TABLE ONLY public.account_secrets
    ADD CONSTRAINT account_secrets_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.cookie_secrets
    ADD CONSTRAINT cookie_secrets_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.ended_tokens
    ADD CONSTRAINT ended_tokens_pkey PRIMARY KEY (token_id);

ALTER TABLE ONLY public.foreign_hashes
    ADD CONSTRAINT foreign_hashes_pkey PRIMARY KEY (prefix);

ALTER TABLE ONLY public.imported_hashes
    ADD CONSTRAINT imported_hashes_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_by_id UNIQUE (id);

ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_pkey PRIMARY KEY (email_key);

ALTER TABLE ONLY public.login_failures
    ADD CONSTRAINT login_failures_pkey PRIMARY KEY (account);

ALTER TABLE ONLY public.one_time_secrets
    ADD CONSTRAINT one_time_secrets_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.schema_versions
    ADD CONSTRAINT schema_versions_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (slot);

ALTER TABLE ONLY public.unfinished_moves
    ADD CONSTRAINT unfinished_moves_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.used_codes
    ADD CONSTRAINT used_codes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_by_email_key UNIQUE (email_key);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

CREATE INDEX changes_by_time ON public.changes USING btree (at);

CREATE INDEX ended_tokens_by_change ON public.ended_tokens USING btree (change_id);

CREATE INDEX ended_tokens_by_time ON public.ended_tokens USING btree (ended_at);

CREATE INDEX imported_hashes_by_prefix ON public.imported_hashes USING btree (prefix);

CREATE INDEX invitations_by_digest ON public.invitations USING btree (digest);

CREATE INDEX invitations_by_expiry ON public.invitations USING btree (expires_at);

CREATE INDEX invitations_by_inviter ON public.invitations USING btree (invited_by);

CREATE INDEX login_failures_by_change ON public.login_failures USING btree (changed_at);

CREATE INDEX login_failures_by_recovery ON public.login_failures USING btree (recovered_at);

CREATE INDEX one_time_secrets_by_digest ON public.one_time_secrets USING btree (digest);

CREATE INDEX one_time_secrets_by_email_key ON public.one_time_secrets USING btree (email_key);

CREATE INDEX one_time_secrets_by_expiry ON public.one_time_secrets USING btree (expires_at);

CREATE INDEX one_time_secrets_by_user ON public.one_time_secrets USING btree (user_id);

CREATE INDEX outbox_by_turn ON public.outbox USING btree (given_up_at, turn_at, due_at, id);

CREATE INDEX outbox_by_user ON public.outbox USING btree (user_id);

CREATE INDEX sessions_by_expiry ON public.sessions USING btree (expires_at);

CREATE INDEX sessions_by_user ON public.sessions USING btree (user_id);

CREATE INDEX used_codes_by_expiry ON public.used_codes USING btree (expires_at);
