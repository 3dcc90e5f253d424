import { afterEach, expect, test } from "vitest";
import { Keyring } from "../domain/keyring.ts";
import { turnIntoResponse } from "../domain/packet.ts";
import { StallMonitor } from "../domain/stall-monitor.ts";
import { TEST_KEY, manualContext, peerAt, type TestContext } from "../testing/harness.ts";
import { RrSession } from "./rr-session.ts";

const keys = new Keyring([TEST_KEY]);
const contexts: TestContext[] = [];

afterEach(() => {
  for (const context of contexts.splice(0)) context.close();
});

function open(values: Partial<TestContext> = {}, warmupPackets = 0): { session: RrSession; nowMs: number } {
  const context = { ...manualContext({ warmupPackets }), ...values };
  contexts.push(context);
  return { session: new RrSession(context, peerAt({}), "udp_rr"), nowMs: context.monotonic() };
}

function answerTo(request: Buffer, residenceMs = 0): Buffer {
  const packet = Buffer.from(request);
  turnIntoResponse(packet, residenceMs * 1e6);
  keys.sign(TEST_KEY.id, packet);
  return packet;
}

test("the residence that the responder states is taken from the round trip", () => {
  const { session, nowMs } = open();
  const answer = answerTo(session.request, 7);
  session.begin(nowMs);
  expect(session.answer(answer, nowMs + 10)).toBe(true);
  expect(session.drain().rtt.sum).toBeCloseTo(0.003, 9);
});

test("a residence longer than the round trip is a lie: received, but not timed", () => {
  const { session, nowMs } = open();
  const answer = answerTo(session.request, 11);
  session.begin(nowMs);
  session.answer(answer, nowMs + 10);
  const { outcomes, discards, rtt } = session.drain();
  expect({ received: outcomes.received, discarded: outcomes.discarded, discards, timed: rtt.count }).toEqual({
    received: 1,
    discarded: 1,
    discards: { bad_residence: 1 },
    timed: 0,
  });
});

test("an answer read after this thread stood still is received, but not timed, and not lost by the stall", () => {
  const { nowMs } = open();
  const stalls = new StallMonitor(20, 8, nowMs);
  const { session } = open({ stalls });
  const answer = answerTo(session.request);
  session.begin(nowMs);
  // 170 ms pass on this side, above the timeout of 150; the thread stalled for all of it.
  session.answer(answer, nowMs + 170);
  const { outcomes, discards, rtt } = session.drain();
  expect(outcomes).toMatchObject({ received: 1, lost: 0, late: 0, discarded: 1 });
  expect({ discards, timed: rtt.count }).toEqual({ discards: { thread_stalled: 1 }, timed: 0 });
});

test("the first answers of a peer warm up the path and aren't timed", () => {
  const { session, nowMs } = open({}, 2);
  for (let i = 0; i < 3; i++) {
    const answer = answerTo(session.request);
    session.begin(nowMs + i);
    session.answer(answer, nowMs + i + 1);
  }
  const { outcomes, discards, rtt } = session.drain();
  expect({ received: outcomes.received, discards, timed: rtt.count }).toEqual({
    received: 3,
    discards: { warmup: 2 },
    timed: 1,
  });
});

test("an answer of another session, or of another responder, is corrupt", () => {
  const { session, nowMs } = open();
  const { session: stranger } = open();
  const foreign = answerTo(stranger.request);
  const redirected = answerTo(session.request);
  redirected[43] = 0x63;
  keys.sign(TEST_KEY.id, redirected);
  session.begin(nowMs);
  expect([session.answer(foreign, nowMs + 1), session.answer(redirected, nowMs + 1)]).toEqual([false, false]);
  expect(session.drain().errors).toEqual({ wrong_session: 1, wrong_source: 1 });
});

test("its own request sent back is no answer", () => {
  const { session, nowMs } = open();
  const mirror = Buffer.from(session.request);
  session.begin(nowMs);
  expect(session.answer(mirror, nowMs + 1)).toBe(false);
  expect(session.drain().errors).toEqual({ bad_type: 1 });
});

test("an answer that no packet was sent for is corrupt, even with a good signature", () => {
  const { session, nowMs } = open();
  expect(session.answer(answerTo(session.request), nowMs)).toBe(false);
  expect(session.drain().errors).toEqual({ unknown_sequence: 1 });
});
