import { array, assert, boolean, integer, property, record } from "fast-check";
import { expect, test } from "vitest";
import { EventQueue } from "./event-queue.ts";

const EVENTS = array(record({ moment: integer({ min: 0, max: 9 }), isTakenBack: boolean() }));

test("events happen in the order of moments, then of adding; those taken back don't", () => {
  assert(
    property(EVENTS, integer({ min: 0, max: 9 }), (events, until) => {
      const queue = new EventQueue();
      const happened: [moment: number, index: number][] = [];
      const takeBack = events.map(({ moment }, index) =>
        queue.at(moment, () => happened.push([queue.now, index])),
      );
      for (const [index, { isTakenBack }] of events.entries()) if (isTakenBack) takeBack[index]!();
      const left = events
        .map(({ moment, isTakenBack }, index) => ({ moment, index, isTakenBack }))
        .filter(({ isTakenBack }) => !isTakenBack)
        .sort((a, b) => a.moment - b.moment || a.index - b.index);
      expect([queue.size, queue.nextAt]).toEqual([left.length, left[0]?.moment ?? Infinity]);
      queue.runUntil(until);
      const due = left.filter(({ moment }) => moment <= until);
      expect(happened).toEqual(due.map(({ moment, index }) => [moment, index]));
      expect([queue.now, queue.size]).toEqual([until, left.length - due.length]);
    }),
  );
});

test("what an event adds happens in its turn, at once if it is due", () => {
  const queue = new EventQueue();
  const happened: string[] = [];
  queue.at(2, () => {
    happened.push("first");
    queue.at(2, () => happened.push("third"));
    queue.at(1, () => happened.push(`overdue at ${queue.now}`));
  });
  queue.at(2, () => happened.push("second"));
  queue.runUntil(2);
  expect(happened).toEqual(["first", "overdue at 2", "second", "third"]);
});

test("to take back what has happened changes nothing, and there is nothing to step to without events", () => {
  const queue = new EventQueue();
  const takeBack = queue.at(1, () => undefined);
  queue.step();
  takeBack();
  queue.step();
  expect([queue.size, queue.now, queue.nextAt]).toEqual([0, 1, Infinity]);
});
