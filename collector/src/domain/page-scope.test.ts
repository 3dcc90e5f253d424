import { describe, expect, it } from "vitest";
import { rowEnds, type PageScope, type PodScope } from "./page-scope.ts";
import { MAX_SERIES_BYTES } from "./row-judge.ts";
import { SCRAPE_MS, takePage, type TakenPage } from "./testing/take-page.ts";
import { TargetMemory } from "./target-memory.ts";

const SIDECAR: PodScope = { of: "pod", namespace: "shop", workloads: ["web"], serves: [] };
const ZTUNNEL: PageScope = {
  of: "node",
  runs: (namespace, workload) => namespace === "shop" && workload === "web",
};

type Labels = Readonly<Record<string, string>>;

const WEB_TO_DB: Labels = {
  reporter: "source",
  source_workload: "web",
  source_workload_namespace: "shop",
  source_principal: "unknown",
  destination_workload: "db",
  destination_workload_namespace: "store",
  destination_principal: "spiffe://cluster.local/ns/store/sa/db",
  response_code: "200",
};

const row = (labels: Labels, metric = "istio_requests_total", value = 7): string =>
  `${metric}{${Object.entries(labels)
    .map(([name, text]) => `${name}="${text}"`)
    .join(",")}} ${value}\n`;

function take(
  scope: PageScope | null,
  text: string,
  memory = new TargetMemory({ kind: "istio" }),
): TakenPage {
  return takePage(memory, text, { scope });
}

const pointsOf = (metrics: TakenPage["metrics"]): number =>
  metrics.reduce((sum, { points }) => sum + points.length, 0);

function verdict(scope: PageScope | null, changes: Labels): string | null {
  const { refused, metrics } = take(scope, row({ ...WEB_TO_DB, ...changes }));
  const [reason = null] = Object.keys(refused);
  expect(metrics).toHaveLength(reason === null ? 1 : 0);
  return reason;
}

describe("a sidecar's page", () => {
  it.each<[string, Labels]>([
    ["its pod's calls, whoever it says it called", {}],
    [
      "its pod's calls to who is unknown",
      { destination_workload: "unknown", destination_workload_namespace: "unknown" },
    ],
    [
      "calls to its pod, whoever it says called",
      {
        reporter: "destination",
        source_workload: "api",
        source_workload_namespace: "other",
        destination_workload: "web",
        destination_workload_namespace: "shop",
      },
    ],
  ])("tells of %s", (_, changes) => {
    expect(verdict(SIDECAR, changes)).toBeNull();
  });

  it.each<[string, Labels]>([
    ["between two other namespaces", { source_workload: "api", source_workload_namespace: "other" }],
    ["of another workload of its namespace", { source_workload: "cart" }],
    ["of a workload of its own's name elsewhere", { source_workload_namespace: "other" }],
    ["that its pod sent, as if it had received them", { reporter: "destination" }],
    [
      "that it says a waypoint saw",
      { reporter: "waypoint", destination_workload: "web", destination_workload_namespace: "shop" },
    ],
    ["of no reporter", { reporter: "" }],
    ["of an invented reporter", { reporter: "ztunnel" }],
    ["without a namespace", { source_workload_namespace: "" }],
  ])("can't tell of requests %s", (_, changes) => {
    expect(verdict(SIDECAR, changes)).toBe("not_an_end");
  });

  it.each<[string, Labels]>([
    ["longer than a workload's", { destination_workload: "a".repeat(254) }],
    ["with control characters", { destination_workload: "db\u001b]0;x\u0007" }],
    ["of more than one part", { destination_workload_namespace: "store/db" }],
    ["longer than a namespace's", { destination_workload_namespace: "a".repeat(64) }],
  ])("can't give the far end a name %s", (_, changes) => {
    expect(verdict(SIDECAR, changes)).toBe("name");
  });

  it("can't give the far end another namespace than its verified certificate does", () => {
    expect(verdict(SIDECAR, { destination_workload_namespace: "bank" })).toBe("principal");
    const inbound = {
      reporter: "destination",
      source_workload: "api",
      source_workload_namespace: "bank",
      destination_workload: "web",
      destination_workload_namespace: "shop",
    };
    expect(verdict(SIDECAR, { ...inbound, source_principal: "spiffe://td/ns/evil/sa/default" })).toBe(
      "principal",
    );
    expect(verdict(SIDECAR, { ...inbound, source_principal: "spiffe://td/ns/bank/sa/api" })).toBeNull();
  });

  it("is judged by every family of the mesh, with and without reduction", () => {
    const forged = { ...WEB_TO_DB, source_workload_namespace: "other" };
    const text = [
      "# TYPE istio_request_bytes histogram\n",
      row(forged),
      row(forged, "istio_tcp_sent_bytes_total"),
      row({ ...forged, le: "+Inf" }, "istio_request_bytes_bucket"),
      row(forged, "istio_request_bytes_sum"),
      row(forged, "istio_request_bytes_count"),
    ].join("");
    for (const reduce of [true, false]) {
      const { metrics, refused } = take(SIDECAR, text, new TargetMemory({ kind: "istio", reduce }));
      expect(metrics).toEqual([]);
      expect(refused).toEqual({ not_an_end: reduce ? 4 : 5 });
    }
  });

  it("goes on to be judged on later pages, beside rows that are known", () => {
    const memory = new TargetMemory({ kind: "istio" });
    const forged = row({ ...WEB_TO_DB, source_workload: "api" }, "istio_requests_total", 2e9);
    for (const value of [1, 2, 3]) {
      const { metrics, refused } = take(SIDECAR, forged + row(WEB_TO_DB, undefined, value) + forged, memory);
      expect(pointsOf(metrics)).toBe(1);
      expect(refused).toEqual({ not_an_end: 2 });
    }
  });

  it("is given up when it has more rows to refuse than a page may have", () => {
    const text = Array.from({ length: 200 }, (_, i) => row({ ...WEB_TO_DB, source_workload: `w${i}` })).join(
      "",
    );
    const page = takePage(new TargetMemory({ kind: "istio" }), text, { scope: SIDECAR, maxSamples: 100 });
    expect(page).toMatchObject({ tooMany: true, samples: 0, refused: { not_an_end: 200 } });
  });
});

describe("a pod's page with more far ends than a pod may have", () => {
  it("keeps those that it had first, and room for nobody else's is not taken", () => {
    const memory = new TargetMemory({ kind: "istio" });
    const text = Array.from({ length: 300 }, (_, i) =>
      row({ ...WEB_TO_DB, destination_workload: `w${i}` }),
    ).join("");
    for (const scrapeMs of [SCRAPE_MS, SCRAPE_MS + 1000]) {
      const page = takePage(memory, text, { scope: SIDECAR, maxSeries: 20, scrapeMs });
      expect(pointsOf(page.metrics)).toBe(20);
      expect(page.refused).toEqual({ too_many: 280 });
    }
  });
});

describe("a waypoint's page", () => {
  const WAYPOINT: PodScope = {
    of: "pod",
    namespace: "mesh",
    workloads: ["waypoint"],
    serves: ["mesh", "shop"],
  };
  const seen = (namespace: string): Labels => ({
    reporter: "waypoint",
    destination_workload_namespace: namespace,
    destination_principal: "",
  });

  it("tells of workloads of the namespaces that it stands before", () => {
    expect(verdict(WAYPOINT, seen("shop"))).toBeNull();
    expect(verdict({ ...WAYPOINT, serves: ["*"] }, seen("anywhere"))).toBeNull();
  });

  it("can't tell of workloads of other namespaces, nor of calls that it doesn't make itself", () => {
    expect(verdict(WAYPOINT, seen("store"))).toBe("not_an_end");
    expect(verdict(WAYPOINT, {})).toBe("not_an_end");
  });
});

describe("a ztunnel's page", () => {
  it("tells of the workloads on its node, at either end", () => {
    expect(verdict(ZTUNNEL, {})).toBeNull();
    const inbound = { destination_workload: "web", destination_workload_namespace: "shop" };
    expect(verdict(ZTUNNEL, { ...inbound, reporter: "destination", source_workload: "api" })).toBeNull();
  });

  it("can't tell of workloads that aren't there, nor in a waypoint's name", () => {
    expect(verdict(ZTUNNEL, { source_workload: "cart" })).toBe("not_an_end");
    expect(verdict(ZTUNNEL, { reporter: "destination" })).toBe("not_an_end");
    expect(verdict(ZTUNNEL, { reporter: "waypoint" })).toBe("not_an_end");
  });
});

describe("any page", () => {
  it("that an operator named itself tells of everybody", () => {
    expect(verdict(null, { source_workload: "api", source_workload_namespace: "other" })).toBeNull();
  });

  it("has no series with more bytes of labels than one may have", () => {
    const memory = new TargetMemory({ kind: "service_graph" });
    const text = [100, MAX_SERIES_BYTES, 100]
      .map((length, index) =>
        row({ client: `c${index}`, server: "x".repeat(length) }, "traces_service_graph_request_total"),
      )
      .join("");
    for (const scrapeMs of [SCRAPE_MS, SCRAPE_MS + 1000]) {
      const { metrics, refused } = takePage(memory, text, { scrapeMs });
      expect(pointsOf(metrics)).toBe(2);
      expect(refused).toEqual({ too_large: 1 });
    }
  });
});

describe("rowEnds", () => {
  it("shows no more of a name than a line of a log has room for", () => {
    const ends = rowEnds((name) => (name === "reporter" ? "source" : "x".repeat(60_000)));
    expect(ends.source).toHaveLength(83);
    expect(ends.reporter).toBe("source");
  });
});
