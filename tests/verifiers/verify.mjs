// Says of each token whether jose takes it for one of the issuer's.
import { createRemoteJWKSet, jwtVerify } from "jose";

const [issuer, audience, ...tokens] = process.argv.slice(2);
const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`));

for (const token of tokens) {
  const verified = jwtVerify(token, keys, { issuer, audience, algorithms: ["ES256"] });
  console.log(await verified.then(() => "good", () => "refused"));
}
