import { describe, expect, test } from "vitest";
import { planText, readPlan } from "./plan-annotation.ts";

describe("a plan on a slice", () => {
  const plan = {
    weights: new Map([
      [
        "west",
        new Map([
          ["west", 0.7],
          ["east", 0.3],
        ]),
      ],
    ]),
    demand: new Map([["west", 12.5]]),
  };

  test("comes back as it was written", () => {
    expect(readPlan(planText(plan))).toEqual(plan);
  });

  test.each([
    "",
    "null",
    "[]",
    "{",
    '{"west":{"requestsPerSecond":1,"to":{"west":0.5}}}',
    '{"west":{"requestsPerSecond":1,"to":{"west":0.7,"east":0.7}}}',
    '{"west":{"requestsPerSecond":1,"to":{"west":-1,"east":2}}}',
    '{"west":{"requestsPerSecond":-1,"to":{"west":1}}}',
    '{"west":{"to":{"west":1}}}',
    `{"west":{"requestsPerSecond":1,"to":{"west":1}}${" ".repeat(40_000)}}`,
  ])("that can't be is none: %j", (text) => {
    expect(readPlan(text)).toBeNull();
  });
});
