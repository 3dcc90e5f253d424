// A flood of unknown flows against new peers, on a fake clock and without sockets.
import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { Keyring } from "../domain/keyring.ts";
import { TEST_KEY, bytesOf, signedRequest } from "../testing/harness.ts";
import { Responder } from "./responder.ts";
import { sourceOf } from "./source.ts";

const WRONG_KEY = { id: 1, secret: Buffer.alloc(32, 0xee) };
const ASKED = 100;
const BURST_EVERY_MS = 20;
/** A probe retries long before a peer counts as lost. */
const ATTEMPTS = 5;

/** The flood comes in bursts, each from its own source and right before the honest requests. */
function underFlood(perSecond: number): { known: number; fresh: number } {
  let nowMs = 0;
  const responder = new Responder({
    config: { responderPacketsPerSecond: 300, acceptTranslatedSource: false },
    keys: new Keyring([TEST_KEY]),
    identity: bytesOf("127.0.0.2"),
    monotonic: () => nowMs,
    random: seededRandom(3),
  });
  const ask = (packet: Buffer, from: string): boolean =>
    responder.admit(packet, "udp", sourceOf(from)!, nowMs);
  const known = "10.0.0.1";
  ask(signedRequest({ source: known, sequence: 1 }), known);
  const strangers = Array.from({ length: 250 }, (_, i) => {
    const address = `10.9.0.${i}`;
    return { address, packet: signedRequest({ source: address, key: WRONG_KEY }) };
  });
  const flood = (): void => {
    nowMs += BURST_EVERY_MS;
    for (let i = 0; i < (perSecond / 1000) * BURST_EVERY_MS; i++) {
      const { address, packet } = strangers[i % strangers.length]!;
      ask(packet, address);
    }
  };
  let knownAnswers = 0;
  const answered = new Set<number>();
  for (let turn = 0; turn < ASKED; turn++) {
    flood();
    if (ask(signedRequest({ source: known, sequence: 2 + turn }), known)) knownAnswers++;
    for (let peer = turn; peer > turn - ATTEMPTS && peer >= 0; peer--) {
      if (answered.has(peer)) continue;
      const source = `10.1.0.${peer}`;
      if (ask(signedRequest({ source, session: 1000 + peer, sequence: turn }), source)) answered.add(peer);
    }
  }
  return { known: knownAnswers, fresh: answered.size };
}

describe("the responder under a flood of strangers", () => {
  test("50,000 a second keep out neither known peers nor new ones", () => {
    expect(underFlood(50_000)).toEqual({ known: 100, fresh: 100 });
  });
});
