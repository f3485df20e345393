// A client for Doorward: `fetch`, types from the OpenAPI document, no dependencies.

import type { components, paths } from "./schema.js";

type Method = "get" | "put" | "post" | "delete" | "patch";
type Operation<P extends keyof paths, M extends Method> = NonNullable<paths[P][M]>;

/** The paths that have an operation with this method. */
type PathsWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, object> ? P : never;
}[keyof paths];

type JsonOf<T> = T extends { content: { "application/json": infer Body } } ? Body : undefined;
type Success = 200 | 201 | 202 | 204;

/** What an operation answers if it succeeds. */
export type Answer<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { responses: infer Responses }
    ? { [S in keyof Responses & Success]: JsonOf<Responses[S]> }[keyof Responses & Success]
    : never;

type Body<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { requestBody: { content: { "application/json": infer Value } } }
    ? { body: Value }
    : Operation<P, M> extends { requestBody?: { content: { "application/json": infer Value } } }
      ? { body?: Value }
      : { body?: never };

type PathParameters<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { parameters: { path: infer Parameters } } ? { path: Parameters } : { path?: never };

export type Input<P extends keyof paths, M extends Method> = Body<P, M> & PathParameters<P, M>;

/** The input may be left out if nothing in it is required. */
type InputArgument<P extends keyof paths, M extends Method> =
  {} extends Input<P, M> ? [input?: Input<P, M>] : [input: Input<P, M>];

/** Where the token is kept. One that several tabs share lets them use each other's new tokens. */
export interface TokenStore {
  get(): string | undefined;
  set(token: string | undefined): void;
  /** Whether other tabs use the same token. */
  readonly isShared?: boolean;
}

export interface Options {
  baseUrl: string;
  tokens?: TokenStore;
  /** The longest wait for `Retry-After`. Beyond it, the error is thrown. */
  maxWaitSeconds?: number;
  fetch?: typeof fetch;
}

/** Any answer that is not a success. */
export class DoorwardError extends Error {
  override readonly name: string = "DoorwardError";

  constructor(
    readonly status: number,
    message: string,
    /** The messages for the fields of the body, if the server names any. */
    readonly fields: Readonly<Record<string, string>>,
    /** The code of `WWW-Authenticate`: `invalid_token`, `insufficient_scope`, `insufficient_user_authentication`, or none. */
    readonly challenge: string | undefined,
    /** The seconds of `Retry-After`. */
    readonly retryAfter: number | undefined,
    readonly requestId: string | undefined,
  ) {
    super(message);
  }

  static async from(response: Response): Promise<DoorwardError> {
    const body: unknown = await response.json().catch(() => undefined);
    const { message, error } = (body ?? {}) as { message?: string; error?: unknown };
    const fields = Array.isArray(error) ? (error[0] as Record<string, string>) : {};
    const challenge = response.headers.get("www-authenticate")?.match(/\berror="([^"]*)"/)?.[1];
    const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
    const told = [
      response.status,
      message ?? response.statusText,
      fields,
      challenge,
      Number.isNaN(retryAfter) ? undefined : retryAfter,
      response.headers.get("x-request-id") ?? undefined,
    ] as const;
    const isMissing = typeof body === "object" && body !== null && "factors" in body;
    return isMissing ? new FactorMissing(body as MissingFactor, ...told) : new DoorwardError(...told);
  }
}

export type MissingFactor = components["schemas"]["FactorMissing"];
/** A code of an authenticator app or a recovery code, or what `navigator.credentials.get()` returned. */
export type FactorAnswer = { code: string } | { credential: components["schemas"]["PasskeyAssertion"] };

/** The password was right, and a second factor is missing. `answer()` gives it. */
export class FactorMissing extends DoorwardError {
  override readonly name = "FactorMissing";

  constructor(
    /** The challenge, what the user can answer it with, and the options for a passkey among them. */
    readonly missing: MissingFactor,
    ...told: ConstructorParameters<typeof DoorwardError>
  ) {
    super(...told);
  }
}

/** Asks the browser for a passkey or a security key. */
export async function assertion(options: components["schemas"]["PasskeyRequest"]) {
  const json = options as PublicKeyCredentialRequestOptionsJSON;
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(json);
  const credential = (await navigator.credentials.get({ publicKey })) as PublicKeyCredential;
  return credential.toJSON() as components["schemas"]["PasskeyAssertion"];
}

const RETRIED = new Set([429, 503]);
const MAX_RETRIES = 2;
const REFRESH = "/api/auth/refresh";

/** Keeps the token in memory. */
export function memoryStore(token?: string): TokenStore {
  return { get: () => token, set: (next) => void (token = next) };
}

/** Keeps the token where all tabs of an app find it, such as in `localStorage`. */
export function storageStore(storage: Storage, key = "doorward"): TokenStore {
  return {
    isShared: true,
    get: () => storage.getItem(key) ?? undefined,
    set: (token) => (token === undefined ? storage.removeItem(key) : storage.setItem(key, token)),
  };
}

export function createClient(options: Options) {
  const { baseUrl, tokens = memoryStore(), maxWaitSeconds = 10, fetch: send = fetch } = options;
  let refreshing: Promise<DoorwardError | undefined> | undefined;

  /** Sends a request, and sends it again after `Retry-After` if the server asks for that. */
  async function attempt(method: Method, path: string, body: unknown, token: string | undefined): Promise<Response> {
    const headers = new Headers({ Accept: "application/json" });
    if (token !== undefined) headers.set("Authorization", `Bearer ${token}`);
    const request: RequestInit = { method: method.toUpperCase(), headers };
    if (body !== undefined) {
      headers.set("Content-Type", "application/json");
      request.body = JSON.stringify(body);
    }
    for (let retries = 0; ; retries++) {
      const response = await send(baseUrl + path, request);
      const wait = Number(response.headers.get("retry-after") ?? Number.NaN);
      if (!RETRIED.has(response.status) || retries === MAX_RETRIES || !(wait <= maxWaitSeconds)) return response;
      await response.body?.cancel();
      await new Promise((resolve) => setTimeout(resolve, wait * 1000));
    }
  }

  /**
   * Stores the token in the answer to any operation that changes something: a sign-in, a step-up and a new factor replace the token of
   * the session. What is only read has no token of its reader.
   */
  function keepToken(method: Method, answer: unknown) {
    if (method === "get" || typeof answer !== "object" || answer === null || !("token" in answer)) return;
    if (typeof answer.token === "string") tokens.set(answer.token);
  }

  const isReplaced = (old: string | undefined) => tokens.get() !== undefined && tokens.get() !== old;

  /**
   * Gets a new token, also for one that has expired, or says why there is none. Requests that fail at the same time share one
   * refresh. Tabs take turns: a refresh with a replaced token would end the session.
   */
  function refreshed(old: string | undefined): Promise<DoorwardError | undefined> {
    const run = async () => {
      // Another tab may have replaced the token.
      if (isReplaced(old)) return undefined;
      const response = await attempt("post", REFRESH, undefined, tokens.get());
      if (response.ok) {
        keepToken("post", await response.json());
        return undefined;
      }
      const error = await DoorwardError.from(response);
      // A tab sees what another one has stored a moment later.
      for (let waits = 0; tokens.isShared && waits < 20; waits++) {
        if (isReplaced(old)) return undefined;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return error;
    };
    const takeTurn = async () => {
      // Browsers have locks on HTTPS and on this machine.
      const locks: LockManager | undefined = globalThis.navigator?.locks;
      return locks ? await locks.request("doorward refresh", run) : run();
    };
    refreshing ??= takeTurn().finally(() => (refreshing = undefined));
    return refreshing;
  }

  async function call<M extends Method, P extends PathsWith<M>>(
    method: M,
    path: P,
    ...[input]: InputArgument<P, M>
  ): Promise<Answer<P, M>> {
    const { body, path: parameters = {} } = (input ?? {}) as { body?: unknown; path?: Record<string, string> };
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(parameters[name])));
    const token = tokens.get();
    let response = await attempt(method, filled, body, token);
    if (!response.ok) {
      let error = await DoorwardError.from(response);
      // A new token helps if this one is not valid any more. It never helps against `insufficient_scope`.
      if (error.challenge !== "invalid_token" || token === undefined || path === REFRESH) throw error;
      if (await refreshed(token)) throw error;
      response = await attempt(method, filled, body, tokens.get());
      if (!response.ok) throw await DoorwardError.from(response);
    }
    const text = await response.text();
    const answer: unknown = text === "" ? undefined : JSON.parse(text);
    keepToken(method, answer);
    return answer as Answer<P, M>;
  }

  return {
    /** Any operation of the document. A token in the answer is stored. */
    call,
    register: (body: Input<"/api/user", "post">["body"]) => call("post", "/api/user", { body }),
    login: (body: Input<"/api/auth/login", "post">["body"]) => call("post", "/api/auth/login", { body }),
    /** Answers the challenge of a login or a step-up. A recovery code that was used is replaced by the one in the answer. */
    answer: ({ challenge }: { challenge: string }, given: FactorAnswer) =>
      call("post", "/api/auth/login/factor", { body: { challenge, ...given } }),
    /** Logs in with a passkey alone. Only browsers can, on the origins that `public_url` and `sign_in.passkey_origins` name. */
    loginWithPasskey: async () => {
      const begun = await call("post", "/api/auth/login/passkey");
      const credential = await assertion(begun.publicKey);
      return call("post", "/api/auth/login/factor", { body: { challenge: begun.challenge, credential } });
    },
    /** Proves the password again. Throws `FactorMissing` for a user with a second factor. */
    stepUp: (password?: string) => {
      const body = password === undefined ? {} : { password };
      return call("post", "/api/me/step-up", { body });
    },
    refresh: async () => {
      const failed = await refreshed(tokens.get());
      if (failed) throw failed;
    },
    me: () => call("get", "/api/me"),
    sessions: () => call("get", "/api/sessions"),
    endSession: (id: string) => call("delete", "/api/sessions/{id}", { path: { id } }),
    logout: async () => {
      await call("post", "/api/auth/logout");
      tokens.set(undefined);
    },
  };
}
