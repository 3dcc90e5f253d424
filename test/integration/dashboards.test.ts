// Checks Grafana's dashboards as files. test/e2e/embedded.serial.test.ts checks that their panels have data.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { panelQueries } from "../harness/dashboards.ts";
import { metricNamesInCode, unknownMetrics } from "../harness/metric-names.ts";

const ROOT = join(import.meta.dirname, "../..");
const FOLDER = join(ROOT, "helm/isochrone/dashboards");

interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}
interface PanelJson {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: Box;
  readonly fieldConfig?: { readonly defaults: { readonly noValue?: string } };
  readonly panels?: readonly PanelJson[];
}

test("every metric that a panel asks for is one that a service publishes", () => {
  const known = metricNamesInCode();
  const queries = panelQueries();
  expect(queries.length).toBeGreaterThan(80);
  const unknown = queries.flatMap(({ panel, expr }) =>
    unknownMetrics(expr, known).map((name) => `${panel}: ${name}`),
  );
  expect(unknown).toEqual([]);
});

/** Metrics that exist only with a feature, and the start of their panels' hint. */
const HINTS: readonly (readonly [metric: RegExp, hint: string])[] = [
  [/isochrone_icmp_/, "ICMP is off"],
  [/isochrone_tcp_connect_/, "TCP handshakes are off"],
  [/isochrone_bandwidth_/, "Bandwidth is off"],
  [/isochrone_scheduler_request_seconds/, "There is no question of kube-scheduler"],
  [/isochrone_planner_/, "The planner is off: values settings.planner.enabled"],
  [/isochrone_descheduler_/, "The descheduler is off: values settings.descheduler.mode"],
  [/isochrone_traffic_outside_cost/, "There is no priced traffic with the outside"],
  [/isochrone_dispatcher_/, "The dispatcher is off: values dispatcher.enabled"],
];

test("the hint of an empty panel names the feature that its metrics need", () => {
  const panels = readdirSync(FOLDER).flatMap((file) => {
    const dashboard = JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as {
      panels: PanelJson[];
    };
    return dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);
  });
  for (const [metric, hint] of HINTS) {
    const asking = panels.filter((panel) => metric.test(JSON.stringify(Reflect.get(panel, "targets") ?? "")));
    expect([metric, asking.length]).not.toEqual([metric, 0]);
    for (const { title, fieldConfig } of asking)
      expect([title, fieldConfig?.defaults.noValue]).toEqual([title, expect.stringContaining(hint)]);
  }
});

describe.each(readdirSync(FOLDER))("%s", (file) => {
  const dashboard = JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as {
    uid: string;
    panels: PanelJson[];
  };
  const panels = dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);

  test("is called after its uid, and each panel has an id of its own and says what it shows", () => {
    expect(file).toBe(`${dashboard.uid}.json`);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const silent = panels.filter(
      ({ type, description = "" }) => type !== "row" && !description.endsWith("."),
    );
    expect(silent).toEqual([]);
  });

  test("a panel whose feature is off says so and names the value, in the place of No data", () => {
    const optional = panels.filter(({ description = "" }) => / Needs .+\.$/.test(description));
    expect(optional.length).toBeGreaterThan(0);
    for (const { title, fieldConfig } of optional)
      expect([title, fieldConfig?.defaults.noValue]).toEqual([
        title,
        expect.stringMatching(
          /^(.+ (is|are) off|There is no .+|Served without certificates)(: values [\w.]+)?, or no figures yet$/,
        ),
      ]);
    const others = panels.filter((panel) => panel.type !== "row" && !optional.includes(panel));
    expect(others.map(({ fieldConfig }) => fieldConfig?.defaults.noValue)).toEqual(
      others.map(() => undefined),
    );
  });

  test("no panel lies on another, none beyond the edge", () => {
    const inside = (panel: PanelJson): string[] =>
      panels
        .filter((other) => other.id > panel.id && overlap(panel.gridPos, other.gridPos))
        .map((other) => `${panel.title} and ${other.title}`);
    expect(panels.flatMap(inside)).toEqual([]);
    for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  });
});

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}
