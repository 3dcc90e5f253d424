import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, describe, expect, expectTypeOf, test } from "vitest";
import { SettingsError } from "../errors.ts";
import { describeSettings } from "./describe.ts";
import { loadSettings } from "./load.ts";
import { bytes, duration, integer, number, ratio } from "./numbers.ts";
import type { Secret } from "./secret.ts";
import { section } from "./section.ts";
import { constant, derived } from "./setting.ts";
import type { Section } from "./section.ts";
import { flag, list, oneOf, secret, text } from "./texts.ts";

const probe = section(
  "probe",
  {
    intervalMs: duration({ default: "1s", min: 10, description: "Time between rounds." }),
    timeoutMs: duration({ default: 500, description: "Time for an answer." }),
    targets: list({ default: [], description: "Addresses." }),
    mode: oneOf(["icmp", "udp"], { default: "udp", description: "Protocol." }),
  },
  {
    rules: [
      ({ timeoutMs, intervalMs }) =>
        timeoutMs < intervalMs
          ? null
          : `timeoutMs must be below intervalMs, got ${timeoutMs} and ${intervalMs}`,
    ],
  },
);
const store = section("topologyStore", {
  url: text({ description: "Address of the store." }),
  password: secret({ default: null, description: "Password.", maxLength: 20 }),
  keep: integer({ default: null, description: "Snapshots kept." }),
});
const url = { ISOCHRONE_TOPOLOGY_STORE_URL: "http://store" };

function mistakesOf(
  sections: readonly Section[],
  sources: Parameters<typeof loadSettings>[1],
): readonly string[] {
  try {
    loadSettings(sections, sources);
  } catch (error) {
    if (error instanceof SettingsError) return error.mistakes;
    throw error;
  }
  return [];
}

describe("sources", () => {
  test("defaults go through the same parser as given values", () => {
    const { probe: values } = loadSettings([probe], { env: {} });
    expect(values).toEqual({ intervalMs: 1000, timeoutMs: 500, targets: [], mode: "udp" });
  });

  test("what Kubernetes tells of Services is no setting", () => {
    const port = section("probe", { port: integer({ default: 1, description: "Port." }) });
    const links = {
      ISOCHRONE_PROBE_SERVICE_HOST: "10.0.0.1",
      ISOCHRONE_PROBE_SERVICE_PORT: "8080",
      ISOCHRONE_PROBE_SERVICE_PORT_HTTP: "8080",
      ISOCHRONE_PROBE_PORT: "tcp://10.0.0.1:8080",
      ISOCHRONE_PROBE_PORT_8080_TCP: "tcp://10.0.0.1:8080",
      ISOCHRONE_PROBE_PORT_8080_TCP_ADDR: "10.0.0.1",
    };
    expect(loadSettings([port], { env: links }).probe).toEqual({ port: 1 });
    expect(loadSettings([port], { env: { ...links, ISOCHRONE_PROBE_PORT: "7" } }).probe).toEqual({ port: 7 });
    const { ISOCHRONE_PROBE_PORT } = links;
    expect(mistakesOf([port], { env: { ISOCHRONE_PROBE_PORT } })).toHaveLength(1);
  });

  test("overrides win over the environment, the environment over the file, the file over the default", () => {
    const file = { probe: { intervalMs: 2000 } };
    const env = { ISOCHRONE_PROBE_INTERVAL_MS: "3s" };
    const overrides = { probe: { intervalMs: 4000 } };
    expect(loadSettings([probe], { env: {}, file }).probe.intervalMs).toBe(2000);
    expect(loadSettings([probe], { env, file }).probe.intervalMs).toBe(3000);
    expect(loadSettings([probe], { env, file, overrides }).probe.intervalMs).toBe(4000);
  });

  test("an empty variable counts as not set", () => {
    expect(loadSettings([probe], { env: { ISOCHRONE_PROBE_INTERVAL_MS: "" } }).probe.intervalMs).toBe(1000);
  });

  test("the types follow from the tables", () => {
    const loaded = loadSettings([probe, store], { env: url });
    expectTypeOf(loaded.probe.intervalMs).toEqualTypeOf<number>();
    expectTypeOf(loaded.probe.mode).toEqualTypeOf<"icmp" | "udp">();
    expectTypeOf(loaded.probe.targets).toEqualTypeOf<readonly string[]>();
    expectTypeOf(loaded.topologyStore.password).toEqualTypeOf<Secret | null>();
    expectTypeOf(loaded.topologyStore.keep).toEqualTypeOf<number | null>();
    expectTypeOf(loaded.topologyStore.url).toEqualTypeOf<string>();
  });

  test("the result is frozen all the way down, and what the caller gave is not", () => {
    const targets = ["10.0.0.1"];
    const loaded = loadSettings([probe], { env: {}, overrides: { probe: { targets } } });
    expect(
      Object.isFrozen(loaded) && Object.isFrozen(loaded.probe) && Object.isFrozen(loaded.probe.targets),
    ).toBe(true);
    expect(Object.isFrozen(targets)).toBe(false);
  });
});

describe("mistakes", () => {
  test("all are reported at once, each with setting, variable, rule and value", () => {
    const env = { ISOCHRONE_PROBE_INTERVAL_MS: "3", ISOCHRONE_PROBE_MODE: "tcp" };
    expect(mistakesOf([probe, store], { env })).toEqual([
      "probe.intervalMs (ISOCHRONE_PROBE_INTERVAL_MS) must be at least 10, got 3",
      "probe.mode (ISOCHRONE_PROBE_MODE) must be one of icmp, udp, got tcp",
      "topologyStore.url (ISOCHRONE_TOPOLOGY_STORE_URL) must be set: Address of the store.",
    ]);
  });

  test("the error's message holds every line", () => {
    expect(() => loadSettings([store], { env: {} })).toThrow(
      /^1 mistake in the settings:\n {2}topologyStore\.url/,
    );
  });

  test("a rule across settings is checked once every value of its section is good", () => {
    expect(mistakesOf([probe], { env: {}, file: { probe: { timeoutMs: "5s" } } })).toEqual([
      "probe: timeoutMs must be below intervalMs, got 5000 and 1000",
    ]);
    expect(mistakesOf([probe], { env: {}, file: { probe: { timeoutMs: "5s", mode: "x" } } })).toHaveLength(1);
  });

  test("an unknown key of the file is a mistake with a suggestion", () => {
    expect(mistakesOf([probe], { env: {}, file: { probe: { intervallMs: 5 } } })).toEqual([
      "probe.intervallMs is not a setting (file); did you mean intervalMs?",
    ]);
  });

  test("an unknown section of the file is a mistake, unless it belongs to another program", () => {
    const sources = { env: {}, file: { prob: {}, dashboard: { a: 1 } }, ignoreSections: ["dashboard"] };
    expect(mistakesOf([probe], sources)).toEqual(["prob is not a section (file); did you mean probe?"]);
  });

  test("an unknown variable of a known section is a mistake, one of another program is not", () => {
    const env = { ISOCHRONE_PROBE_INTERVAL: "5", ISOCHRONE_OTHER_THING: "1", HOME: "/" };
    expect(mistakesOf([probe], { env })).toEqual([
      "ISOCHRONE_PROBE_INTERVAL is not a setting (environment); did you mean ISOCHRONE_PROBE_INTERVAL_MS?",
    ]);
  });

  test("a suggestion is left out when nothing is near", () => {
    expect(mistakesOf([probe], { env: {}, file: { probe: { zebra: 5 } } })).toEqual([
      "probe.zebra is not a setting (file)",
    ]);
  });

  test("an unknown override is a mistake", () => {
    expect(mistakesOf([probe], { env: {}, overrides: { probe: { zebra: 5 } } })).toEqual([
      "probe.zebra is not a setting (override)",
    ]);
  });

  test("null is refused where a value is needed, and taken where it may be absent", () => {
    expect(mistakesOf([probe], { env: {}, file: { probe: { mode: null } } })).toEqual([
      "probe.mode (ISOCHRONE_PROBE_MODE) must have a value, got null",
    ]);
    expect(
      loadSettings([store], { env: url, file: { topologyStore: { keep: null } } }).topologyStore.keep,
    ).toBeNull();
  });

  test("a section that is no table is a mistake", () => {
    const file = { probe: [] } as never;
    expect(mistakesOf([probe], { env: {}, file })).toEqual([
      "probe (file) must be a table of settings, got []",
    ]);
  });

  test("a key named like an object's own method is unknown, not inherited", () => {
    const file = { probe: JSON.parse('{"__proto__": 1, "toString": 2}') as Record<string, unknown> };
    expect(mistakesOf([probe], { env: {}, file })).toHaveLength(2);
  });
});

describe("secrets", () => {
  const env = { ...url, ISOCHRONE_TOPOLOGY_STORE_PASSWORD: "hunter2" };

  test("only reveal gives the text", () => {
    const { topologyStore: values } = loadSettings([store], { env });
    expect(values.password?.reveal()).toBe("hunter2");
    for (const shown of [
      JSON.stringify(values),
      inspect(values, { showHidden: true }),
      String(values.password),
    ])
      expect(shown).not.toContain("hunter2");
  });

  test("a mistake does not show it", () => {
    const long = "hunter2".repeat(9);
    expect(mistakesOf([store], { env: { ...url, ISOCHRONE_TOPOLOGY_STORE_PASSWORD: long } })).toEqual([
      "topologyStore.password (ISOCHRONE_TOPOLOGY_STORE_PASSWORD) must have at most 20 characters, got [redacted]",
    ]);
  });
});

describe("files", () => {
  const folder = mkdtempSync(join(tmpdir(), "settings-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const write = (name: string, content: string): string => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };

  test("YAML is read", () => {
    const file = write("a.yaml", "probe:\n  intervalMs: 5s\n  targets: [a, b]\n");
    expect(loadSettings([probe], { env: {}, file }).probe).toMatchObject({
      intervalMs: 5000,
      targets: ["a", "b"],
    });
  });

  test("JSON is read", () => {
    const file = write("a.json", '{"probe": {"intervalMs": 700}}');
    expect(loadSettings([probe], { env: {}, file }).probe.intervalMs).toBe(700);
  });

  test("an empty file is no mistake, nor is an empty section", () => {
    expect(mistakesOf([probe], { env: {}, file: write("empty.yaml", "# nothing\n") })).toEqual([]);
    expect(mistakesOf([probe], { env: {}, file: write("half.yaml", "probe:\n") })).toEqual([]);
  });

  test("a file that is missing, broken or no table is named", () => {
    for (const path of [join(folder, "none"), write("b.yaml", "a: [1"), write("c.yaml", "- 1\n")])
      expect(mistakesOf([probe], { env: {}, file: path })[0]).toContain(`settings file ${path} must`);
  });

  test("a key that stands twice is a mistake", () => {
    expect(mistakesOf([probe], { env: {}, file: write("d.yaml", "probe: {}\nprobe: {}\n") })[0]).toContain(
      "unique",
    );
  });
});

const description = "x";
const all = section("all", {
  count: integer({ default: null, min: 0, max: 9, description }),
  factor: number({ default: null, min: -1, description }),
  lossRatio: ratio({ default: null, description }),
  waitMs: duration({ default: null, max: 600_000, description }),
  sizeBytes: bytes({ default: null, description }),
  host: text({ default: null, pattern: /[a-z.]+/, patternRule: "must be a host name", description }),
  on: flag({ default: null, description }),
  names: list({ default: null, minItems: 1, maxItems: 2, pattern: /[a-z]+/, description }),
});

test.each([
  ["count", "7", 7],
  ["count", 7, 7],
  ["factor", "-0.5", -0.5],
  ["factor", "1e3", 1000],
  ["lossRatio", "20%", 0.2],
  ["lossRatio", 1, 1],
  ["waitMs", "500", 500],
  ["waitMs", "500ms", 500],
  ["waitMs", "2s", 2000],
  ["waitMs", "0.1s", 100],
  ["waitMs", "5m", 300_000],
  ["sizeBytes", "10MiB", 10_485_760],
  ["sizeBytes", "1kB", 1000],
  ["sizeBytes", "64 KiB", 65_536],
  ["on", "yes", true],
  ["on", "0", false],
  ["on", false, false],
  ["names", "a, b", ["a", "b"]],
  ["names", ["a"], ["a"]],
])("%s takes %j as %j", (key, raw, value) => {
  const loaded = loadSettings([all], { env: {}, file: { all: { [key]: raw } } });
  expect(loaded.all[key as keyof typeof loaded.all]).toEqual(value);
});

test.each([
  ["count", "1.5", "must be an integer, got 1.5"],
  ["count", "0x1", "must be an integer, got 0x1"],
  ["count", " ", 'must be an integer, got " "'],
  ["count", -1, "must be at least 0, got -1"],
  ["count", "10", "must be at most 9, got 10"],
  ["count", true, "must be an integer, got true"],
  ["factor", "NaN", "must be a number, got NaN"],
  ["factor", "1e999", "must be a number, got 1e999"],
  ["factor", -2, "must be at least -1, got -2"],
  ["lossRatio", "120%", 'must be at most 1, got "120%"'],
  ["lossRatio", "much", "must be a ratio such as 0.2 or 20%, got much"],
  ["waitMs", "2 weeks", 'must be a duration such as 500, 500ms, 2s, 5m or 1h, got "2 weeks"'],
  ["waitMs", "1h", "must be at most 600000, got 1h"],
  ["waitMs", "-1s", "must be at least 0, got -1s"],
  ["sizeBytes", "0.5", "must be a whole number of bytes such as 1024, 64KiB or 10MiB, got 0.5"],
  ["sizeBytes", "1XB", "must be a whole number of bytes such as 1024, 64KiB or 10MiB, got 1XB"],
  ["host", "a_b", "must be a host name, got a_b"],
  ["host", 5, "must be text, got 5"],
  ["host", "", 'must not be empty, got ""'],
  ["on", "maybe", "must be true or false, got maybe"],
  ["names", [], "must have at least 1 items, got []"],
  ["names", "a,b,c", 'must have at most 2 items, got "a,b,c"'],
  ["names", ["a", 1], 'must hold only text that is not empty, got ["a",1]'],
  ["names", ["A"], 'must hold only text that matches /[a-z]+/ ("A" does not), got ["A"]'],
  ["names", 4, "must be a list of text, or text separated by commas, got 4"],
])("%s refuses %j: %s", (key, raw, rule) => {
  const [mistake] = mistakesOf([all], { env: {}, file: { all: { [key]: raw } } });
  expect(mistake).toMatch(/^all\.\w+ \(ISOCHRONE_ALL_[A-Z_]+\) /);
  expect(mistake?.slice(mistake.indexOf(")") + 2)).toBe(rule);
});

test("a duration without its unit in the name is a mistake of the programmer", () => {
  expect(() => section("a", { wait: duration({ default: 1, description }) })).toThrow(
    'duration setting must end in Ms, got "a.wait"',
  );
  expect(() => section("a", { size: bytes({ default: 1, description }) })).toThrow("must end in Bytes");
});

test("names of sections and settings are camelCase", () => {
  expect(() => section("My-Section", {})).toThrow('section name must be camelCase, got "My-Section"');
  expect(() => section("a", { some_key: flag({ default: true, description }) })).toThrow("a.some_key");
});

describe("what is no setting any more", () => {
  const sender = section("sender", {
    intervalMs: duration({ default: "1s", description: "Time between records." }),
    retries: constant(3, "More only delay the error.", { min: 0, max: 9 }),
    timeoutMs: derived(
      ({ intervalMs }: { readonly intervalMs: number }) => intervalMs / 2,
      "It is half of sender.intervalMs.",
    ),
  });
  const load = (sources: Parameters<typeof loadSettings>[1]) => {
    const removed: string[] = [];
    const onRemoved = (sentence: string): void => void removed.push(sentence);
    return { values: loadSettings([sender], { ...sources, onRemoved }).sender, removed };
  };

  test("holds its constant, or what follows from the settings", () => {
    const { values, removed } = load({ env: { ISOCHRONE_SENDER_INTERVAL_MS: "4s" } });
    expect(values).toEqual({ intervalMs: 4000, retries: 3, timeoutMs: 2000 });
    expect(removed).toEqual([]);
  });

  test("is ignored where an operator gives it, by environment or file, and named with the reason", () => {
    const folder = mkdtempSync(join(tmpdir(), "isochrone-removed-"));
    try {
      const file = join(folder, "settings.yaml");
      writeFileSync(file, "sender: { timeoutMs: soon }");
      const { values, removed } = load({ env: { ISOCHRONE_SENDER_RETRIES: "9" }, file });
      expect(values).toEqual({ intervalMs: 1000, retries: 3, timeoutMs: 500 });
      expect(removed).toEqual([
        "sender.retries (ISOCHRONE_SENDER_RETRIES) is no setting any more and is ignored; 3 holds: More only delay the error.",
        "sender.timeoutMs (ISOCHRONE_SENDER_TIMEOUT_MS) is no setting any more and is ignored: It is half of sender.intervalMs.",
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("is a program's to change", () => {
    const file = { sender: { retries: 5 } };
    const { values, removed } = load({ env: {}, file, overrides: { sender: { timeoutMs: 70 } } });
    expect(values).toEqual({ intervalMs: 1000, retries: 5, timeoutMs: 70 });
    expect(removed).toEqual([]);
  });

  test.each([
    [10, "sender.retries must be at most 9, got 10"],
    [-1, "sender.retries must be at least 0, got -1"],
    [Number.NaN, "sender.retries must be at least 0, got null"],
  ])("is held to its bounds where a program gives %d", (retries, mistake) => {
    expect(mistakesOf([sender], { env: {}, overrides: { sender: { retries } } })).toEqual([mistake]);
  });

  test("an unknown name stays a mistake", () => {
    expect(mistakesOf([sender], { env: { ISOCHRONE_SENDER_RETRY: "9" } })[0]).toContain("is not a setting");
  });

  test("is in no documentation", () => {
    expect(describeSettings([sender])).not.toContain("retries");
  });
});
