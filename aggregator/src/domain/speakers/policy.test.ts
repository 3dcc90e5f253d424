import { describe, expect, test } from "vitest";
import { parseSpeakerRules, SpeakerPolicy, speakersMistake } from "./policy.ts";

const ACCOUNT = "system:serviceaccount:otel:collector";
const text = (...rules: readonly unknown[]): string => JSON.stringify(rules);

describe("aggregator.speakers", () => {
  test("names accounts, and what they may speak of", () => {
    const rules = parseSpeakerRules(text({ account: ACCOUNT, nodes: ["*"], namespaces: ["shop", "bank"] }));
    expect(rules).toEqual([
      { account: ACCOUNT, name: ACCOUNT, nodes: "all", namespaces: new Set(["shop", "bank"]) },
    ]);
    expect(parseSpeakerRules(null)).toEqual([]);
  });

  test("needs no account for a service that exists only on Kafka, and lets nobody speak as it over HTTP", () => {
    const rules = parseSpeakerRules(
      text({ name: "otel-shop", namespaces: ["shop"] }, { name: "otel-bank", namespaces: ["bank"] }),
    );
    const shop = { account: null, name: "otel-shop", nodes: new Set(), namespaces: new Set(["shop"]) };
    expect(rules).toMatchObject([shop, { account: null, name: "otel-bank" }]);
    const policy = new SpeakerPolicy(Array.isArray(rules) ? rules : []);
    expect(policy.rule("otel-shop")).toEqual(shop);
    for (const user of ["otel-shop", "null", ""]) expect(policy.speakerOf({ user, node: null })).toBeNull();
  });

  test.each([
    ["{", "aggregator.speakers must be a JSON list of rules, got"],
    ["{}", "aggregator.speakers must be a JSON list of rules, got"],
    [text(1), "aggregator.speakers[0] must be an object with account or name, nodes and namespaces, got 1"],
    [
      text({ account: ACCOUNT, node: ["*"] }),
      'aggregator.speakers[0] must have only name, account, nodes, namespaces, got "node"',
    ],
    [
      text({ nodes: ["*"] }),
      "aggregator.speakers[0] must have an account, or the name of a service on Kafka, got neither",
    ],
    [text({ account: "", name: "otel", nodes: ["*"] }), "aggregator.speakers[0].account must be 1 to 253 of"],
    [
      text({ account: "a", name: "aggregator", nodes: ["*"] }),
      "aggregator.speakers[0].name must not be aggregator",
    ],
    [text({ account: "aggregator", nodes: ["*"] }), "aggregator.speakers[0].name must not be aggregator"],
    [
      text({ name: "otel", nodes: ["n1"] }, { name: "otel", nodes: ["n2"] }),
      "aggregator.speakers[1].name must be of one rule only, got otel again",
    ],
    [text({ account: "a|b", nodes: ["*"] }), 'got "a|b"'],
    [text({ account: "a" }), "aggregator.speakers[0] must name nodes or namespaces, got neither"],
    [
      text({ account: "a", nodes: "*" }),
      'aggregator.speakers[0].nodes must be a list of at most 10000 names, got "*"',
    ],
    [
      text({ account: "a", namespaces: ["shop", "*"] }),
      'aggregator.speakers[0].namespaces must hold names of objects, or "*" alone, got "*"',
    ],
    [
      text({ account: "a", nodes: ["n1"] }, { account: "a", nodes: ["n2"] }),
      "aggregator.speakers[1].account must be of one rule only, got a again",
    ],
  ])("refuses %s", (value, rule) => {
    expect(speakersMistake({ speakers: value })).toContain(rule);
    expect(speakersMistake({ speakers: value })!.length).toBeLessThan(300);
  });
});

describe("a policy", () => {
  const rules = parseSpeakerRules(text({ account: ACCOUNT, name: "otel", nodes: ["*"] }));
  const policy = new SpeakerPolicy(Array.isArray(rules) ? rules : []);

  test("makes a service of whom the operator names, and of others the speaker of their node", () => {
    expect(policy.speakerOf({ user: ACCOUNT, node: "n1" })).toEqual({ kind: "service", name: "otel" });
    expect(policy.speakerOf({ user: "system:serviceaccount:x:probe", node: "n1" })).toEqual({
      kind: "node",
      node: "n1",
    });
    expect(policy.speakerOf({ user: "people", node: null })).toBeNull();
  });
});
