import { describe, expect, it } from "vitest";
import { BEHAVIOUR } from "../names.ts";
import { readBehaviour } from "./behaviour.ts";

function problemsOf(annotations: Readonly<Record<string, string>>): string[] {
  const problems: string[] = [];
  readBehaviour(annotations, (_, message) => problems.push(message));
  return problems;
}

const CALLS = { [BEHAVIOUR.calls]: "b,c" };

describe("the behaviour of a stand-in program", () => {
  it("has options of single calls and a spread of its work", () => {
    const options = { b: { probability: 0.25, requestBytes: 10, responseBytes: 20 }, c: {} };
    const annotations = {
      ...CALLS,
      [BEHAVIOUR.callOptions]: JSON.stringify(options),
      [BEHAVIOUR.cpuSpread]: "exponential",
    };
    expect(problemsOf(annotations)).toEqual([]);
    expect(readBehaviour(annotations, () => {})).toMatchObject({
      callOptions: options,
      cpuSpread: "exponential",
    });
  });

  it.each([
    ["no JSON", "{", "must be JSON"],
    ["a list of nothing", "null", "must be an object by service"],
    ["an unknown callee", `{"d":{}}`, `names "d", which is not called`],
    ["an unknown setting", `{"b":{"bytes":1}}`, `has no setting "bytes"`],
    ["a probability of 0", `{"b":{"probability":0}}`, "b: probability must be above 0 and at most 1, got 0"],
    ["a text for a number", `{"b":{"requestBytes":"1"}}`, `b: requestBytes must be an integer`],
    ["half a byte", `{"b":{"responseBytes":0.5}}`, `b: responseBytes must be an integer`],
  ])("refuses call options with %s", (_, text, message) => {
    expect(problemsOf({ ...CALLS, [BEHAVIOUR.callOptions]: text })).toEqual([
      expect.stringContaining(message),
    ]);
  });

  it("refuses an unknown spread", () => {
    expect(problemsOf({ [BEHAVIOUR.cpuSpread]: "normal" })).toEqual([
      expect.stringContaining(`got "normal"`),
    ]);
  });
});
