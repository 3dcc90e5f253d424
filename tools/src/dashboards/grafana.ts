// Builds Grafana dashboards, using the subset of JSON that Grafana 10 to 12 all read. (Grafana's own builder
// is a preview and tied to one version.)

interface Query {
  readonly expr: string;
  readonly legend?: string;
}

/**
 * Optional components that a query needs, as chart values. Panels mention them, also instead of "No data".
 */
const NEEDS = {
  kafka: { needs: "Kafka as the bus", off: "Kafka is off: values kafka.enabled" },
  kubernetes: { needs: "an API server", off: "There is no API server" },
  gates: {
    needs: "gates.enabled, which is on by default",
    off: "Gates are off: values settings.gates.enabled",
  },
  planner: { needs: "planner.enabled", off: "The planner is off: values settings.planner.enabled" },
  descheduler: {
    needs: "descheduler.mode other than off",
    off: "The descheduler is off: values settings.descheduler.mode",
  },
  dispatch: {
    needs: "dispatch.levers",
    off: "Levers are off: values settings.dispatch.levers",
  },
  dispatcher: { needs: "dispatcher.enabled", off: "The dispatcher is off: values dispatcher.enabled" },
  prices: { needs: "prices for the nodes' zones", off: "There is no price for these zones: values prices" },
  outside: {
    needs: "traffic with the outside that has a price",
    off: "There is no priced traffic with the outside: values outside",
  },
  webhook: { needs: "webhook.enabled", off: "The webhook is off: values settings.webhook.enabled" },
  extender: {
    needs: "a kube-scheduler that asks the extender",
    off: "There is no question of kube-scheduler",
  },
  handshakes: {
    needs: "tcp_connect among probe.methods",
    off: "TCP handshakes are off: values settings.probe.methods",
  },
  icmp: { needs: "icmp among probe.methods", off: "ICMP is off: values settings.probe.methods" },
  bandwidth: { needs: "probe.bandwidth", off: "Bandwidth is off: values settings.probe.bandwidth" },
  tls: { needs: "certificates", off: "Served without certificates: values tls.source" },
} as const;
type Need = keyof typeof NEEDS;

interface Panel {
  readonly title: string;
  readonly description: string;
  readonly kind: "stat" | "timeseries" | "table" | "heatmap" | "bargauge";
  readonly unit: string;
  readonly queries: readonly Query[];
  /** Out of 24. */
  readonly width: number;
  readonly height?: number;
  /** Lower bounds of the warning and the bad range. */
  readonly thresholds?: readonly [warn: number, bad: number];
  /** Low values are bad. @default false */
  readonly lowIsBad?: boolean;
  /** Logarithmic axis for latencies. @default false */
  readonly log?: boolean;
  readonly needs?: Need;
}

interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
  readonly collapsed?: boolean;
}

interface Variable {
  readonly name: string;
  readonly label: string;
  readonly query: string;
  readonly multi?: boolean;
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly Variable[];
  readonly rows: readonly Row[];
}

type Json = Readonly<Record<string, unknown>>;

const SCHEMA_VERSION = 39;
const COLUMNS = 24;
const DATASOURCE = { type: "prometheus", uid: "${datasource}" };
const HEIGHTS = { stat: 4, timeseries: 8, table: 8, heatmap: 8, bargauge: 8 } as const;
/** Distinguishable with red-green colour blindness. */
const COLORS = { good: "blue", warn: "orange", bad: "dark-red" } as const;

export function toGrafana(dashboard: Dashboard, all: readonly Dashboard[]): Json {
  const { uid, title, description } = dashboard;
  return {
    uid,
    title,
    description,
    tags: ["isochrone"],
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-1h", to: "now" },
    timezone: "browser",
    links: all
      .filter((other) => other.uid !== uid)
      .map((other) => ({ title: other.title, type: "link", url: `/d/${other.uid}`, keepTime: true })),
    templating: { list: [datasource(), ...dashboard.variables.map(variable)] },
    panels: layout(dashboard.rows),
  };
}

function datasource(): Json {
  return { name: "datasource", label: "Prometheus", type: "datasource", query: "prometheus" };
}

function variable({ name, label, query, multi = true }: Variable): Json {
  return {
    name,
    label,
    type: "query",
    datasource: DATASOURCE,
    query: { query, refId: name },
    definition: query,
    refresh: 2,
    sort: 1,
    multi,
    includeAll: multi,
    ...(multi ? { allValue: ".*", current: { text: "All", value: "$__all" } } : {}),
  };
}

function layout(rows: readonly Row[]): Json[] {
  const placed: Json[] = [];
  let id = 0;
  let y = 0;
  for (const { title, panels, collapsed = false } of rows) {
    const row = { id: ++id, type: "row", title, collapsed, gridPos: { x: 0, y: y++, w: COLUMNS, h: 1 } };
    let x = 0;
    let tallest = 0;
    const inside: Json[] = [];
    for (const panel of panels) {
      const h = panel.height ?? HEIGHTS[panel.kind];
      if (x + panel.width > COLUMNS) {
        x = 0;
        y += tallest;
        tallest = 0;
      }
      inside.push({ id: ++id, ...panelJson(panel), gridPos: { x, y, w: panel.width, h } });
      x += panel.width;
      tallest = Math.max(tallest, h);
    }
    y += tallest;
    placed.push(...(collapsed ? [{ ...row, panels: inside }] : [{ ...row, panels: [] }, ...inside]));
  }
  return placed;
}

function panelJson(panel: Panel): Json {
  const { title, description, kind, queries, needs } = panel;
  const isInstant = kind === "table" || kind === "bargauge";
  return {
    title,
    description: needs === undefined ? description : `${description} Needs ${NEEDS[needs].needs}.`,
    type: kind,
    datasource: DATASOURCE,
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend ?? "__auto",
      ...(isInstant ? { instant: true, range: false } : {}),
      ...(kind === "table" ? { format: "table" } : {}),
      ...(kind === "heatmap" ? { format: "heatmap" } : {}),
    })),
    fieldConfig: { defaults: fieldDefaults(panel), overrides: [] },
    options: OPTIONS[kind],
    ...(kind === "table"
      ? { transformations: [{ id: "organize", options: { excludeByName: { Time: true } } }] }
      : {}),
  };
}

function fieldDefaults({ kind, unit, thresholds, lowIsBad = false, log = false, needs }: Panel): Json {
  const colored = thresholds !== undefined && kind !== "timeseries";
  return {
    unit,
    // Grafana cannot distinguish a disabled component from one without data.
    ...(needs === undefined ? {} : { noValue: `${NEEDS[needs].off}, or no figures yet` }),
    ...(colored ? { color: { mode: "thresholds" } } : {}),
    ...(thresholds === undefined
      ? {}
      : { thresholds: { mode: "absolute", steps: steps(thresholds, lowIsBad) } }),
    custom: {
      ...(kind === "timeseries"
        ? {
            lineWidth: 1,
            fillOpacity: 8,
            showPoints: "never",
            spanNulls: false,
            scaleDistribution: log ? { type: "log", log: 10 } : { type: "linear" },
            ...(thresholds === undefined ? {} : { thresholdsStyle: { mode: "dashed" } }),
          }
        : {}),
      ...(kind === "table" && colored ? { cellOptions: { type: "color-background", mode: "basic" } } : {}),
    },
  };
}

function steps([warn, bad]: readonly [number, number], lowIsBad: boolean): Json[] {
  const { good, warn: middle, bad: worst } = COLORS;
  return lowIsBad
    ? [
        { color: worst, value: null },
        { color: middle, value: bad },
        { color: good, value: warn },
      ]
    : [
        { color: good, value: null },
        { color: middle, value: warn },
        { color: worst, value: bad },
      ];
}

const LAST = { calcs: ["lastNotNull"], fields: "", values: false };
const OPTIONS: Readonly<Record<Panel["kind"], Json>> = {
  stat: { colorMode: "value", graphMode: "area", reduceOptions: LAST },
  timeseries: {
    legend: { displayMode: "table", placement: "bottom", calcs: ["lastNotNull", "max"] },
    tooltip: { mode: "multi", sort: "desc" },
  },
  table: { showHeader: true, sortBy: [{ displayName: "Value", desc: true }] },
  heatmap: {
    calculate: false,
    color: { mode: "scheme", scheme: "Blues", steps: 32 },
    yAxis: { unit: "s" },
    cellGap: 0,
  },
  bargauge: { orientation: "horizontal", displayMode: "basic", reduceOptions: LAST },
};
