// Verifies proofs of an audit trail with the code of sigstore: `node verify.mjs KEY PROOF…`, where KEY is a vkey. Prints a line for
// each proof: the event that it proves, or why it proves nothing.
import { createPublicKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(process.env.PACKAGES + '/')
const { verifyCheckpoint } = require('@sigstore/verify/dist/timestamp/checkpoint')
const { verifyMerkleInclusion } = require('@sigstore/verify/dist/timestamp/merkle')

const [, , key, ...proofs] = process.argv
const [name, hint] = key.split('+')
const material = Buffer.from(key.slice(name.length + hint.length + 2), 'base64')
if (material[0] !== 1) throw new Error('not an Ed25519 key')
// The header of an Ed25519 public key in DER.
const prefix = Buffer.from('302a300506032b6570032100', 'hex')
const publicKey = createPublicKey({ key: Buffer.concat([prefix, material.subarray(1)]), format: 'der', type: 'spki' })
const log = { logID: Buffer.from(hint, 'hex'), publicKey, baseURL: name, validFor: { start: new Date(0), end: new Date(8e15) } }

function verified(proof) {
  const text = readFileSync(proof, 'utf8')
  const end = text.indexOf('\n\n')
  const [header, extra, index, ...hashes] = text.slice(0, end).split('\n')
  const envelope = text.slice(end + 2)
  if (header !== 'c2sp.org/tlog-proof@v1') throw new Error('not a proof')
  const body = envelope.split('\n')
  const entry = {
    canonicalizedBody: Buffer.from(extra.slice('extra '.length), 'base64'),
    integratedTime: String(Math.floor(Date.now() / 1000)),
    inclusionProof: {
      logIndex: index.slice('index '.length),
      treeSize: body[1],
      rootHash: Buffer.from(body[2], 'base64'),
      hashes: hashes.map((hash) => Buffer.from(hash, 'base64')),
      checkpoint: { envelope },
    },
  }
  const checkpoint = verifyCheckpoint(entry, [log])
  verifyMerkleInclusion(entry, checkpoint)
  return JSON.parse(entry.canonicalizedBody.subarray(16).toString())
}

for (const proof of proofs) {
  let verdict
  try {
    verdict = { event: verified(proof) }
  } catch (error) {
    verdict = { refused: String(error) }
  }
  console.log(JSON.stringify(verdict))
}
