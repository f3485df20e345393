// Judges the ceremonies on its input, one per line of JSON, with the npm package @simplewebauthn/server.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, rpId, origin] = process.argv.slice(2);
const path = createRequire(`${folder}/package.json`).resolve("@simplewebauthn/server");
const { verifyAuthenticationResponse, verifyRegistrationResponse } = await import(pathToFileURL(path));

const expected = { expectedOrigin: origin, expectedRPID: rpId, requireUserVerification: false };

async function verdict({ challenge, credential, credentialId, publicKey }) {
  const options = { ...expected, response: credential, expectedChallenge: challenge };
  if (!publicKey) {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      ...options,
      supportedAlgorithmIDs: [-7, -8, -257],
    });
    if (!verified) throw new Error("not verified");
    return {
      credentialId: registrationInfo.credential.id,
      aaguid: registrationInfo.aaguid,
      signCount: registrationInfo.credential.counter,
      userVerified: registrationInfo.userVerified,
      backedUp: registrationInfo.credentialBackedUp,
    };
  }
  const known = { id: credentialId, publicKey: Buffer.from(publicKey, "base64url"), counter: 0 };
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({ ...options, credential: known });
  if (!verified) throw new Error("not verified");
  return {
    signCount: authenticationInfo.newCounter,
    userVerified: authenticationInfo.userVerified,
    backedUp: authenticationInfo.credentialBackedUp,
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await verdict(JSON.parse(line)).catch((error) => ({ refused: error.message }));
  console.log(JSON.stringify(answer));
}
