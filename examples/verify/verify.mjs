// Verifies Doorward's tokens locally and notices revocations within a second.
// As a module: npm install jose, then
//   import { Verifier } from "./verify.mjs";
//   const verifier = await Verifier.start("http://127.0.0.1:3000", "doorward");
//   const { sub } = await verifier.verify(token); // throws if the token is not valid
// As a program: node verify.mjs http://127.0.0.1:3000 doorward < tokens
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { createRemoteJWKSet, jwtVerify } from "jose";

const algorithms = ["ES256", "EdDSA", "RS256"];

export class Verifier {
  #metadata;
  #audience;
  #keys;
  #feed = { cursor: "", revoked: new Set() };
  #stopped = new AbortController();

  /** Resolves when the whole feed is loaded, then follows it until `stop()`. */
  static async start(url, audience) {
    const verifier = new Verifier();
    verifier.#metadata = JSON.parse(await verifier.#fetch(`${url}/.well-known/openid-configuration`));
    verifier.#audience = audience;
    verifier.#keys = createRemoteJWKSet(new URL(verifier.#metadata.jwks_uri));
    await verifier.#follow();
    verifier.#followUntilStopped();
    return verifier;
  }

  /** Returns the claims of a valid token; throws for any other. */
  async verify(token) {
    const expected = { issuer: this.#metadata.issuer, audience: this.#audience, algorithms, typ: "JWT" };
    const { payload, protectedHeader } = await jwtVerify(token, this.#keys, expected);
    const feed = this.#feed;
    if (!feed.kids.includes(protectedHeader.kid) || feed.revoked.has(payload.jti)) throw new Error("the token was revoked");
    if (Date.now() / 1000 > feed.exp) throw new Error("the revocation feed is out of date");
    return payload;
  }

  stop() {
    this.#stopped.abort();
  }

  async #fetch(url) {
    return (await fetch(url, { signal: this.#stopped.signal })).text();
  }

  async #follow() {
    const expected = { issuer: this.#metadata.issuer, algorithms, typ: "revocations+jwt" };
    let { cursor } = this.#feed;
    let page;
    const revoked = new Set(this.#feed.revoked);
    do {
      const text = await this.#fetch(`${this.#metadata.revocations_uri}?since=${cursor}`); // waits for changes
      await this.#keys.reload();
      page = (await jwtVerify(text, this.#keys, expected)).payload;
      if (page.complete) revoked.clear();
      for (const jti of page.revoked) revoked.add(jti);
      cursor = page.cursor;
    } while (page.more); // a partial feed must not be used
    this.#feed = { ...page, revoked };
  }

  async #followUntilStopped() {
    for (let count = 1; !this.#stopped.signal.aborted; count++) {
      if (count % 5000 === 0) this.#feed.cursor = ""; // start over to drop expired entries
      await this.#follow().then(() => pause(100), () => this.#stopped.signal.aborted || pause(1000));
    }
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const verifier = await Verifier.start(...process.argv.slice(2));
  for await (const token of createInterface({ input: process.stdin })) {
    console.log(await verifier.verify(token).then(({ sub }) => `good ${sub}`, () => "refused"));
  }
  verifier.stop();
}
