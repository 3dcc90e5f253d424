import { describe, expect, it } from "vitest";
import type { Verdict } from "./finding.ts";
import { judgeSources } from "./sources.ts";

describe("a collector that counts connections", () => {
  const judged = (state: string): Verdict => {
    const text = ["refused", "accounting_off", "bypassed", "table_full", "overflowed", "ok"]
      .map((each) => `isochrone_collector_connections_state{state="${each}"} ${each === state ? 1 : 0}`)
      .join("\n");
    const collector = { url: "http://c/metrics", text, error: null };
    const verdicts = judgeSources({
      cluster: null,
      workflows: [],
      ambiguousNames: null,
      why: "no server",
      collector,
    });
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

describe("rows that a collector leaves out", () => {
  const judged = (...lines: string[]): Verdict => {
    const text = ['isochrone_collector_targets_up{kind="istio"} 1', ...lines].join("\n");
    const collector = { url: "http://c/metrics", text, error: null };
    const verdicts = judgeSources({
      cluster: null,
      workflows: [],
      ambiguousNames: 0,
      why: "no server",
      collector,
    });
    return verdicts.find(({ check }) => check === "collector's rows")!;
  };

  it("are told by their largest reasons, of all kinds and queries together, with what to do", () => {
    const found = judged(
      'isochrone_collector_rows_refused_total{kind="istio",reason="not_an_end"} 3',
      'isochrone_collector_rows_refused_total{kind="hubble",reason="not_an_end"} 4',
      'isochrone_collector_prometheus_series_refused_total{query="agents",reason="not_trusted"} 90',
      'isochrone_collector_malformed_lines_total{kind="istio"} 2',
      "isochrone_collector_prometheus_series_left_out_total 1",
    );
    expect(found.severity).toBe("warning");
    expect(found.value).toBe("left out since the start: not_trusted 90, not_an_end 7, malformed 2");
    expect(found.remedy).toContain("collector.prometheusTrustedPods");
  });

  it("are no loss where no graph needs them", () => {
    expect(
      judged('isochrone_collector_rows_unused_total{kind="istio",reason="not_needed"} 900'),
    ).toMatchObject({
      severity: "ok",
      value: "all",
    });
  });
});

describe("usage that isn't known", () => {
  const judged = (page: string | null): Verdict[] => {
    const collector = page === null ? null : { url: "http://c/metrics", text: page, error: null };
    const node = { name: "n1", ready: true, availableCpuMillicores: null };
    const cluster = { nodes: [node] } as unknown as Parameters<typeof judgeSources>[0]["cluster"];
    return judgeSources({ cluster, workflows: [], ambiguousNames: 0, why: "", collector });
  };
  const up = 'isochrone_collector_targets_up{kind="cadvisor"} 1\n';
  const failing = 'isochrone_collector_targets_failing{kind="cadvisor"}';
  const incomplete = 'isochrone_collector_targets_incomplete{kind="cadvisor"}';

  it.each([
    ["failing targets where there are some", `${up}${failing} 1\n`, "certificate"],
    ["what the runtime tells where pages lack pods", `${up}${failing} 0\n${incomplete} 1\n`, "runtime"],
    ["what isn't used where no target fails", `${up}${failing} 0\n${incomplete} 0\n`, "No target"],
    ["a collector where none is named", null, "Name a collector"],
  ])("points at %s", (_, page, remedy) => {
    expect(judged(page)[0]).toMatchObject({ check: "usage of nodes", severity: "warning" });
    expect(judged(page)[0]!.remedy).toContain(remedy);
  });

  it("names pages that lack pods", () => {
    const found = judged(`${up}${incomplete} 1\n`).find(({ check }) => check === "collector's pages");
    expect(found).toMatchObject({ severity: "info", value: 'incomplete: kind="cadvisor" 1' });
  });
});

it.each([
  [0, "ok"],
  [2, "warning"],
])("%i names of several workloads are %s", (ambiguousNames, severity) => {
  const verdicts = judgeSources({ cluster: null, workflows: [], ambiguousNames, why: "", collector: null });
  expect(verdicts.find(({ check }) => check === "names of workloads")).toMatchObject({ severity });
});
