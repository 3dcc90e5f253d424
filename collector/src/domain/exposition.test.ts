import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readPage } from "./testing/read-page.ts";
import { anyPage, chunked, referenceSamples } from "./testing/reference-parser.ts";

const page = `# HELP istio_requests_total Requests.
# TYPE istio_requests_total counter
istio_requests_total{reporter="source",destination_service="m1.default.svc",response_code="200"} 12
container_memory_working_set_bytes{container="",id="/kubepods/a\\"b\\\\c\\n",pod="p-1"} 1.5e+06 1690000000123
up 1
`;

describe("ExpositionReader", () => {
  it("reads samples, types, escapes and millisecond timestamps", () => {
    const { samples, types, malformed } = readPage([page]);
    expect(malformed).toBe(0);
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
    const whole = readPage([page]);
    for (let cut = 1; cut < page.length; cut += 7)
      expect(readPage([page.slice(0, cut), page.slice(cut)])).toEqual(whole);
  });

  it("reads OpenMetrics: seconds, exemplars and the end mark", () => {
    const { samples, ended } = readPage(
      ['a_total{x="1"} 5 1690000000.5 # {trace_id="t"} 1\nb 1 1690000000\n# EOF\n'],
      { format: "openmetrics" },
    );
    expect(ended).toBe(true);
    expect(samples).toEqual([
      { name: "a_total", labels: { x: "1" }, value: 5, timestampMs: 1_690_000_000_500 },
      { name: "b", labels: {}, value: 1, timestampMs: 1_690_000_000_000 },
    ]);
  });

  it("does not read the labels of what nobody wants", () => {
    const { samples, malformed } = readPage(["noise{broken 1\nnoise{\nup 1\n"], {
      wants: (name) => name === "up",
    });
    expect(samples.map(({ name }) => name)).toEqual(["up"]);
    expect(malformed).toBe(0);
  });

  it.each([
    ["{} 1", "begins with a metric name"],
    ["up", "begins with a metric name"],
    ["up one", "must be a number"],
    ['up{a="1} 1', "end with a quote"],
    ["up{a=1} 1", "in quotes"],
    ['up{1a="1"} 1', "label name"],
    ["up 1 later", "timestamp"],
    ["up 1 1.5", "integer milliseconds"],
    ["up 1 2 3", "nothing but an exemplar"],
    ["up 0x10", "must be a number"],
    ["up 1_000", "must be a number"],
    ['up{a="1",a="2"} 1', "must occur once"],
    ['up{a="1"b="2"} 1', "separated by commas"],
    ['up{,a="1"} 1', "label name"],
    ['up{a="1",,} 1', "label name"],
    ['up{a="1"', "end with }"],
    ['up{a="1",', "end with }"],
    ["up{", "end with }"],
    ['up{a="1"}', "must be a number"],
    ['{a="1"} 1', "begins with a metric name"],
    ['{"up","down"} 1', "label name"],
    ['{"up} 1', "end with a quote"],
  ])("names the line and rule of %j and goes on", (line, rule) => {
    const { samples, malformed, firstFault } = readPage([`ok 1\n${line}\nok 2\n`]);
    expect(samples.map(({ value }) => value)).toEqual([1, 2]);
    expect(malformed).toBe(1);
    expect(firstFault).toMatch(/^line 2: /);
    expect(firstFault).toContain(rule);
  });

  it("names what it got", () => {
    expect(readPage(["up one\n"]).firstFault).toBe('line 1: a value must be a number, got "up one"');
  });

  it("refuses labels that are not UTF-8, and reads those that are", () => {
    const { samples, malformed } = readPage([
      Buffer.from([...Buffer.from('up{a="'), 0xc3, 0x28, ...Buffer.from('"} 1\n')]),
      Buffer.from([...Buffer.from('up{a="\\'), 0xff, ...Buffer.from('"} 1\n')]),
      'up{a="büro \u{1f30d}"} 2\n',
    ]);
    expect(samples.map(({ labels }) => labels)).toEqual([{ a: "büro \u{1f30d}" }]);
    expect(malformed).toBe(2);
  });

  it("reads names in quotes, of metrics and of labels", () => {
    const { samples, types } = readPage([
      '# TYPE "my.requests" counter\n{"my.requests","a.b"="1",c="2"} 3\n{"plain"} 4 5\nplain{"c"="6"} 7\nplain{"c"="8"} 9\n',
    ]);
    expect(types).toEqual({ "my.requests": "counter" });
    expect(samples).toEqual([
      { name: "my.requests", labels: { "a.b": "1", c: "2" }, value: 3, timestampMs: null },
      { name: "plain", labels: {}, value: 4, timestampMs: 5 },
      { name: "plain", labels: { c: "6" }, value: 7, timestampMs: null },
      { name: "plain", labels: { c: "8" }, value: 9, timestampMs: null },
    ]);
  });

  it("allows blanks and a comma at the end where the format does, and line ends with a carriage return", () => {
    const { samples, malformed } = readPage(['\t up { a = "1" , b="2" , }  3 \r\n\r\nup{}4\r\n']);
    expect(malformed).toBe(0);
    expect(samples.map(({ labels, value }) => ({ labels, value }))).toEqual([
      { labels: { a: "1", b: "2" }, value: 3 },
      { labels: {}, value: 4 },
    ]);
  });

  it("keeps a backslash that escapes nothing", () => {
    expect(readPage(['a{b="\\d\\\\n\\n"} 1\n']).samples[0]!.labels).toEqual({ b: "\\d\\n\n" });
  });

  it("refuses what follows the end mark", () => {
    const { samples, malformed, firstFault } = readPage(["a 1\n# EOF\nb 2\n"]);
    expect(samples).toHaveLength(1);
    expect(malformed).toBe(1);
    expect(firstFault).toContain("nothing may follow # EOF");
  });

  it("reads NaN and infinities as such, for the consumer to refuse", () => {
    expect(readPage(["a NaN\nb +Inf\nc -Inf\nd nan\ne inf\n"]).samples.map(({ value }) => value)).toEqual([
      NaN,
      Infinity,
      -Infinity,
      NaN,
      Infinity,
    ]);
  });

  it("refuses an endless line with bounded memory and goes on after it", () => {
    const limits = { maxLineBytes: 100, maxLabels: 4 };
    const { samples, malformed, firstFault } = readPage(
      [
        ...Array.from({ length: 1000 }, () => "x".repeat(50)),
        "\nup 1\n",
        `y{a="${"z".repeat(200)}"} 1\nup 2\n`,
      ],
      { limits },
    );
    expect(samples).toHaveLength(2);
    expect(malformed).toBe(2);
    expect(firstFault).toContain("line 1: a line has at most 100 bytes");
  });

  it("refuses too many labels", () => {
    const limits = { maxLineBytes: 1000, maxLabels: 2 };
    const { firstFault, samples } = readPage(['a{a="1",b="1",c="1"} 1\na{a="1",b="1"} 1\n'], { limits });
    expect(firstFault).toContain("at most 2 labels");
    expect(samples).toHaveLength(1);
  });

  it("reads any valid page as a simple parser does, in any chunks", () => {
    fc.assert(
      fc.property(anyPage, fc.infiniteStream(fc.integer({ min: 1, max: 200 })), ({ text, format }, sizes) => {
        const page = readPage(chunked(text, sizes), { format });
        expect(page.firstFault).toBe(null);
        expect(page.samples).toEqual(referenceSamples(text, format));
      }),
      { numRuns: 300 },
    );
  });

  it("never throws on hostile bytes, and gives the same in any chunks", () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc
        .constantFrom(...'up{a="b\\" # TYPE EOF\n\r\t ,}=1e5+Inf{"x"'.split(""))
        .map((character) => Buffer.from(character)),
      fc
        .constantFrom("up", "up{", 'a="', '",', '"} 1', "\n", "# TYPE up counter\n", "# EOF\n")
        .map((text) => Buffer.from(text)),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 60 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 30 })),
        (pieces, sizes) => {
          const bytes = Buffer.concat(pieces);
          const limits = { maxLineBytes: 120, maxLabels: 3 };
          const whole = readPage([bytes], { limits });
          expect({ ...readPage(chunked(bytes, sizes), { limits }), firstFault: null }).toEqual({
            ...whole,
            firstFault: null,
          });
        },
      ),
      { numRuns: 1000 },
    );
  });
});
