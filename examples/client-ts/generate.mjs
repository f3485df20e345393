// Writes schema.d.ts from the document of a running Doorward:
// npm run generate -- https://auth.example.com

import { writeFileSync } from "node:fs";
import openapiTS, { astToString, COMMENT_HEADER } from "openapi-typescript";

const [, , baseUrl = "http://localhost:3000"] = process.argv;
const types = await openapiTS(new URL(`${baseUrl}/openapi.json`));
writeFileSync("schema.d.ts", COMMENT_HEADER + astToString(types));
