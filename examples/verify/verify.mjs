// Verifies tokens of a Doorward by itself, and knows of an ended session within a second.
// npm install jose && node verify.mjs http://127.0.0.1:3000 doorward < tokens
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { createRemoteJWKSet, jwtVerify } from "jose";

const [url, audience] = process.argv.slice(2);
const ask = async (url) => (await fetch(url)).text();
const { issuer, jwks_uri, revocations_uri } = JSON.parse(await ask(`${url}/.well-known/openid-configuration`));
const keys = createRemoteJWKSet(new URL(jwks_uri));
const algorithms = ["ES256", "EdDSA", "RS256"];
let heard = { cursor: "", revoked: new Set() };

async function follow() {
  const feed = await ask(`${revocations_uri}?since=${heard.cursor}`); // waits for news
  await keys.reload();
  const { payload } = await jwtVerify(feed, keys, { issuer, algorithms, typ: "revocations+jwt" });
  const before = payload.complete ? [] : heard.revoked;
  heard = { ...payload, revoked: new Set([...before, ...payload.revoked]) };
  if (heard.more) await follow();
}

export async function verify(token) {
  const { payload, protectedHeader } = await jwtVerify(token, keys, { issuer, audience, algorithms, typ: "JWT" });
  if (!heard.kids.includes(protectedHeader.kid) || heard.revoked.has(payload.jti)) throw new Error("ended");
  if (Date.now() / 1000 > heard.exp) throw new Error("nothing was heard for too long");
  return payload;
}

async function followForEver() {
  for (let count = 1; ; count++) {
    if (count % 5000 === 0) heard.cursor = ""; // anew, without what has expired
    await follow().then(() => pause(100), () => pause(1000));
  }
}

await follow();
followForEver();
for await (const token of createInterface({ input: process.stdin })) {
  console.log(await verify(token).then(({ sub }) => `good ${sub}`, () => "refused"));
}
process.exit();
