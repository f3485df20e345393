// better-auth on Node's own HTTP server, with its memory adapter, so that only the product is measured.
import { createServer } from "node:http";
import { betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { toNodeHandler } from "better-auth/node";

const port = Number(process.argv[2]);
const tables = { user: [], session: [], account: [], verification: [], rateLimit: [] };
const auth = betterAuth({
  baseURL: `http://127.0.0.1:${port}`,
  secret: "for-the-benchmark-only-0123456789abcdef",
  database: memoryAdapter(tables),
  emailAndPassword: { enabled: true },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
});
createServer(toNodeHandler(auth)).listen(port, "127.0.0.1");
