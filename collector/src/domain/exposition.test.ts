import { describe, expect, it } from "vitest";
import { ExpositionReader, type ExpositionLimits, type Sample } from "./exposition.ts";

interface Read {
  readonly samples: {
    name: string;
    labels: Record<string, string>;
    value: number;
    timestampMs: number | null;
  }[];
  readonly types: Record<string, string>;
  readonly faults: string[];
  readonly recognised: number;
}

function read(
  chunks: readonly string[],
  wants: (name: string) => boolean = () => true,
  limits?: ExpositionLimits,
): Read {
  const samples: Read["samples"] = [];
  const types: Record<string, string> = {};
  const faults: string[] = [];
  const reader = new ExpositionReader(
    {
      wants,
      type: (family, type) => (types[family] = type),
      sample: ({ name, labels, value, timestampMs }: Sample) =>
        samples.push({ name, labels: Object.fromEntries(labels), value, timestampMs }),
      malformed: (line, rule) => faults.push(`${line}: ${rule}`),
    },
    limits,
  );
  for (const chunk of chunks) reader.feed(chunk);
  reader.end();
  return { samples, types, faults, recognised: reader.recognised };
}

const page = `# HELP istio_requests_total Requests.
# TYPE istio_requests_total counter
istio_requests_total{reporter="source",destination_service="m1.default.svc",response_code="200"} 12
container_memory_working_set_bytes{container="",id="/kubepods/a\\"b\\\\c\\n",pod="p-1"} 1.5e+06 1690000000123
up 1
`;

describe("ExpositionReader", () => {
  it("reads samples, types, escapes and millisecond timestamps", () => {
    const { samples, types, faults } = read([page]);
    expect(faults).toEqual([]);
    expect(types).toEqual({ istio_requests_total: "counter" });
    expect(samples).toEqual([
      {
        name: "istio_requests_total",
        labels: { reporter: "source", destination_service: "m1.default.svc", response_code: "200" },
        value: 12,
        timestampMs: null,
      },
      {
        name: "container_memory_working_set_bytes",
        labels: { container: "", id: '/kubepods/a"b\\c\n', pod: "p-1" },
        value: 1_500_000,
        timestampMs: 1_690_000_000_123,
      },
      { name: "up", labels: {}, value: 1, timestampMs: null },
    ]);
  });

  it("gives the same when the page is cut anywhere", () => {
    const whole = read([page]);
    for (let cut = 1; cut < page.length; cut += 7)
      expect(read([page.slice(0, cut), page.slice(cut)])).toEqual(whole);
  });

  it("reads OpenMetrics: seconds, exemplars and the end mark", () => {
    const { samples } = read(['a_total{x="1"} 5 1690000000.5 # {trace_id="t"} 1\n# EOF\n']);
    expect(samples).toEqual([
      { name: "a_total", labels: { x: "1" }, value: 5, timestampMs: 1_690_000_000_500 },
    ]);
  });

  it("does not read the labels of what nobody wants", () => {
    const { samples, faults } = read(["noise{broken 1\nup 1\n"], (name) => name === "up");
    expect(samples.map(({ name }) => name)).toEqual(["up"]);
    expect(faults).toEqual([]);
  });

  it.each([
    ["{} 1", "begins with a metric name"],
    ["up", "begins with a metric name"],
    ["up one", "must be a number"],
    ['up{a="1} 1', "end with a quote"],
    ["up{a=1} 1", "in quotes"],
    ['up{1a="1"} 1', "label name"],
    ["up 1 later", "timestamp"],
  ])("names the line and rule of %j and goes on", (line, rule) => {
    const { samples, faults } = read([`ok 1\n${line}\nok 2\n`]);
    expect(samples.map(({ value }) => value)).toEqual([1, 2]);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(/^2: /);
    expect(faults[0]).toContain(rule);
  });

  it("reads NaN and infinities as such, for the consumer to refuse", () => {
    expect(read(["a NaN\nb +Inf\nc -Inf\n"]).samples.map(({ value }) => value)).toEqual([
      NaN,
      Infinity,
      -Infinity,
    ]);
  });

  it("refuses an endless line with bounded memory and goes on after it", () => {
    const limits = { maxLineLength: 100, maxLabels: 4 };
    const { samples, faults } = read(
      [...Array.from({ length: 1000 }, () => "x".repeat(50)), "\nup 1\n"],
      () => true,
      limits,
    );
    expect(samples).toHaveLength(1);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain("at most 100 characters");
  });

  it("refuses too many labels", () => {
    const { faults } = read(['a{a="1",b="1",c="1"} 1\n'], () => true, { maxLineLength: 1000, maxLabels: 2 });
    expect(faults[0]).toContain("at most 2 labels");
  });
});
