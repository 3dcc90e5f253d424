import { describe, expect, it } from "vitest";
import type { Verdict } from "./finding.ts";
import { judgeSources } from "./sources.ts";

describe("a collector that counts connections", () => {
  const judged = (state: string): Verdict => {
    const text = ["refused", "accounting_off", "bypassed", "table_full", "overflowed", "ok"]
      .map((each) => `isochrone_collector_connections_state{state="${each}"} ${each === state ? 1 : 0}`)
      .join("\n");
    const collector = { url: "http://c/metrics", text, error: null };
    const verdicts = judgeSources({ cluster: null, workflows: [], why: "no server", collector });
    return verdicts.find(({ check }) => check === "connections")!;
  };

  it.each([
    ["refused", "NET_ADMIN"],
    ["accounting_off", "nf_conntrack_acct=1"],
    ["bypassed", "another source"],
    ["table_full", "nf_conntrack_max"],
    ["overflowed", "CPU"],
  ])("says what to do where its node's tracking is %s", (state, remedy) => {
    expect(judged(state)).toMatchObject({ severity: "error", value: state });
    expect(judged(state).remedy).toContain(remedy);
  });

  it("is well where all are counted", () => {
    expect(judged("ok").severity).toBe("ok");
  });
});
