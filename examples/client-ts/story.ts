// What an app does with the client: register, log in, read the account, refresh, list sessions, log out.
// node dist/story.js http://localhost:3000

import { createClient, DoorwardError, memoryStore } from "./client.js";

declare const process: { argv: string[] };

const [, , baseUrl = "http://localhost:3000", email = "ada@example.com"] = process.argv;
const password = "correct horse battery staple";
const tokens = memoryStore();
const doorward = createClient({ baseUrl, tokens });

const registered = await doorward.register({ name: "Ada Lovelace", email, password });
// The document allows for a service that answers the same for a taken address.
console.log("registered", "id" in registered ? registered.id : registered.message);

const { token } = await doorward.login({ email, password });
console.log("logged in", token === tokens.get());

const me = await doorward.me();
console.log("me", me.name, me.emailVerified, me.roles.length);

await doorward.refresh();
console.log("refreshed", tokens.get() !== token);

const sessions = await doorward.sessions();
console.log("sessions", sessions.length, sessions.filter((session) => session.current).length);
for (const { id, current } of sessions) if (!current) await doorward.endSession(id);
console.log("others ended", (await doorward.sessions()).length);

try {
  await doorward.register({ name: "x", email: "nobody" });
} catch (error) {
  if (error instanceof DoorwardError) console.log("error", error.status, JSON.stringify(error.fields));
}

await doorward.logout();
try {
  await doorward.me();
} catch (error) {
  if (error instanceof DoorwardError) console.log("error", error.status, error.challenge ?? "no credentials");
}
