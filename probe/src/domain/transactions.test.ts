import { expect, test } from "vitest";
import { Transactions } from "./transactions.ts";

const TIMEOUT_MS = 100;

test("an answer within the timeout is received once, and again is a duplicate", () => {
  const transactions = new Transactions(TIMEOUT_MS, 8);
  transactions.sent(1000);
  expect(transactions.settle(0, 1100)).toEqual({
    kind: "received",
    sentMs: 1000,
    plannedMs: 1000,
    departedNs: Number.NaN,
  });
  expect(transactions.settle(0, 1101)).toEqual({ kind: "duplicate" });
  expect(transactions.waiting).toBe(0);
});

test("the timer declares a loss once, and the answer after it is late", () => {
  const transactions = new Transactions(TIMEOUT_MS, 8);
  transactions.sent(1000);
  expect(transactions.expire(1099)).toBe(0);
  expect(transactions.expire(1100)).toBe(1);
  expect(transactions.expire(5000)).toBe(0);
  expect(transactions.settle(0, 1150)).toEqual({ kind: "late" });
  expect(transactions.settle(0, 1160)).toEqual({ kind: "duplicate" });
});

test("an answer after the timeout that the timer hasn't seen yet says so, so that the loss is counted once", () => {
  const transactions = new Transactions(TIMEOUT_MS, 8);
  transactions.sent(1000);
  expect(transactions.settle(0, 1101)).toEqual({ kind: "late_first" });
  expect(transactions.expire(2000)).toBe(0);
});

test("this side's own delay lengthens the timeout", () => {
  const transactions = new Transactions(TIMEOUT_MS, 8);
  transactions.sent(1000);
  expect(transactions.settle(0, 1150, 60).kind).toBe("received");
});

test("a number that was never sent, or is forgotten, is unknown", () => {
  const transactions = new Transactions(TIMEOUT_MS, 4);
  expect(transactions.settle(0, 1).kind).toBe("unknown");
  for (let i = 0; i < 5; i++) {
    transactions.sent(i);
    transactions.settle(i, i);
  }
  expect(transactions.settle(0, 10).kind).toBe("unknown");
  expect(transactions.settle(4, 10).kind).toBe("duplicate");
});

test("a ring that is too small for what waits reports what it pushes out as lost, once", () => {
  const transactions = new Transactions(TIMEOUT_MS, 4);
  const pushedOut = [0, 1, 2, 3, 4, 5].map((ms) => transactions.sent(ms));
  expect(pushedOut).toEqual([0, 0, 0, 0, 1, 1]);
  expect(transactions.expireAll()).toBe(4);
  expect(transactions.waiting).toBe(0);
});

test("a send that the kernel refused is taken back", () => {
  const transactions = new Transactions(TIMEOUT_MS, 8);
  transactions.sent(0);
  transactions.takeBack();
  expect(transactions.expire(1000)).toBe(0);
  expect(transactions.settle(0, 10).kind).toBe("unknown");
  expect(transactions.nextDeadlineMs()).toBeNull();
});

test("losses are declared in the order of sending, and what waits keeps its own deadline", () => {
  const transactions = new Transactions(TIMEOUT_MS, 8);
  for (const ms of [0, 10, 20]) transactions.sent(ms);
  transactions.settle(0, 5);
  expect(transactions.nextDeadlineMs()).toBe(110);
  expect(transactions.expire(115)).toBe(1);
  expect(transactions.nextDeadlineMs()).toBe(120);
});

test("the kernel's time of departure is that of the first transmission, and goes with its packet", () => {
  const transactions = new Transactions(TIMEOUT_MS, 4);
  for (let i = 0; i < 5; i++) transactions.sent(10 * i, 10 * i - 1);
  transactions.departed(3, 333);
  transactions.departed(3, 999);
  transactions.departed(0, 111);
  expect(transactions.settle(3, 35)).toMatchObject({ sentMs: 30, plannedMs: 29, departedNs: 333 });
  expect(transactions.settle(4, 45)).toMatchObject({ sentMs: 40, plannedMs: 39, departedNs: Number.NaN });
});
