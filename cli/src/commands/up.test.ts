import { ManualClock, type StopSignal } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { onEnd } from "./up.ts";

function build() {
  const clock = new ManualClock();
  const ending = new AbortController();
  const exits: number[] = [];
  let send: (signal: StopSignal) => void = () => undefined;
  const off = onEnd(
    {
      onSignal: (listener) => {
        send = listener;
        return () => undefined;
      },
      exit: (code) => void exits.push(code),
    },
    ending,
    clock,
    5_000,
  );
  return { clock, ending, exits, off, interrupt: () => send("SIGINT") };
}

test("what doesn't stop within five seconds of Ctrl-C is ended", async () => {
  const { clock, ending, exits, interrupt } = build();
  interrupt();
  expect(ending.signal.aborted).toBe(true);
  await clock.advance(4_999);
  expect(exits).toEqual([]);
  await clock.advance(1);
  expect(exits).toEqual([1]);
});

test("what stopped in time is not", async () => {
  const { clock, exits, interrupt, off } = build();
  interrupt();
  off();
  await clock.advance(60_000);
  expect(exits).toEqual([]);
});

test("a second Ctrl-C ends at once, but not the one that comes with the first", async () => {
  const { clock, exits, interrupt } = build();
  interrupt();
  await clock.advance(100);
  interrupt();
  expect(exits).toEqual([]);
  await clock.advance(500);
  interrupt();
  expect(exits).toEqual([1]);
});
