// Adds an echo route to the app of deploy/express.mjs, which writes every request to the journal.

import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import express from 'express';
import { app } from './express.mjs';

app.use(express.raw({ type: () => true }), (req, res) => {
  const body = Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
  const arrival = {
    method: req.method,
    target: req.originalUrl,
    headers: Object.entries(req.headersDistinct).flatMap(([name, values]) => values.map((value) => [name, value])),
    length: body.length,
    sha256: createHash('sha256').update(body).digest('hex'),
  };
  appendFileSync(process.env.ECHO_JOURNAL, `${JSON.stringify(arrival)}\n`);
  res.send('ok');
});

const [host, port] = '127.0.0.1:8080'.split(':');
app.listen(port, host);
