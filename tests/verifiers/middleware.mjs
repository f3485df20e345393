// An app with one route per JWT library. Each route returns the claims of an accepted token.
import express from "express";
import { expressjwt } from "express-jwt";
import { auth } from "express-oauth2-jwt-bearer";
import { createRemoteJWKSet, jwtVerify } from "jose";
import jwks from "jwks-rsa";

const [issuer, audience, algorithm] = process.argv.slice(2);
const jwksUri = `${issuer}/.well-known/jwks.json`;

// In these tests a new key signs immediately. By default it is published for longer than the 30 seconds of a cooldown.
const cooldownDuration = 0;
const keys = createRemoteJWKSet(new URL(jwksUri), { cooldownDuration });

async function jose(request, response, next) {
  const token = request.headers.authorization?.replace(/^Bearer /, "");
  const { payload } = await jwtVerify(token, keys, { issuer, audience, algorithms: [algorithm] });
  request.auth = { payload };
  next();
}

const middleware = {
  jose,
  // Finds the key set through discovery.
  "express-oauth2-jwt-bearer": auth({ issuerBaseURL: issuer, audience, tokenSigningAlg: algorithm, cooldownDuration }),
  "express-jwt": expressjwt({ secret: jwks.expressJwtSecret({ jwksUri }), audience, issuer, algorithms: [algorithm] }),
};

const app = express();
for (const [name, verify] of Object.entries(middleware)) {
  app.get(`/${name}`, verify, (request, response) => response.json(request.auth.payload ?? request.auth));
}
app.use((error, request, response, next) => response.status(401).json({ error: error.message }));
const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));
