// Verifies tokens of a Doorward by itself, and knows of an ended session within a second.
// As a module: npm install jose, then
//   import { Verifier } from "./verify.mjs";
//   const verifier = await Verifier.start("http://127.0.0.1:3000", "doorward");
//   const { sub } = await verifier.verify(token); // throws if the token is not good
// As a program: node verify.mjs http://127.0.0.1:3000 doorward < tokens
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { createRemoteJWKSet, jwtVerify } from "jose";

const algorithms = ["ES256", "EdDSA", "RS256"];

export class Verifier {
  #about;
  #audience;
  #keys;
  #heard = { cursor: "", revoked: new Set() };
  #end = new AbortController();

  /** Resolves when everything that has ended so far is known; follows the feed until `stop()`. */
  static async start(url, audience) {
    const verifier = new Verifier();
    verifier.#about = JSON.parse(await verifier.#ask(`${url}/.well-known/openid-configuration`));
    verifier.#audience = audience;
    verifier.#keys = createRemoteJWKSet(new URL(verifier.#about.jwks_uri));
    await verifier.#follow();
    verifier.#followForEver();
    return verifier;
  }

  /** The claims of a token that is good at this moment; throws for any other. */
  async verify(token) {
    const expected = { issuer: this.#about.issuer, audience: this.#audience, algorithms, typ: "JWT" };
    const { payload, protectedHeader } = await jwtVerify(token, this.#keys, expected);
    const heard = this.#heard;
    if (!heard.kids.includes(protectedHeader.kid) || heard.revoked.has(payload.jti)) throw new Error("ended");
    if (Date.now() / 1000 > heard.exp) throw new Error("nothing was heard for too long");
    return payload;
  }

  stop() {
    this.#end.abort();
  }

  async #ask(url) {
    return (await fetch(url, { signal: this.#end.signal })).text();
  }

  async #follow() {
    const expected = { issuer: this.#about.issuer, algorithms, typ: "revocations+jwt" };
    let { cursor } = this.#heard;
    let news;
    const revoked = new Set(this.#heard.revoked);
    do {
      const feed = await this.#ask(`${this.#about.revocations_uri}?since=${cursor}`); // waits for news
      await this.#keys.reload();
      news = (await jwtVerify(feed, this.#keys, expected)).payload;
      if (news.complete) revoked.clear();
      for (const jti of news.revoked) revoked.add(jti);
      cursor = news.cursor;
    } while (news.more); // a part of it must not be relied on
    this.#heard = { ...news, revoked };
  }

  async #followForEver() {
    for (let count = 1; !this.#end.signal.aborted; count++) {
      if (count % 5000 === 0) this.#heard.cursor = ""; // anew, without what has expired
      await this.#follow().then(() => pause(100), () => this.#end.signal.aborted || pause(1000));
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
