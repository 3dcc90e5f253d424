// The chart rejects values outside the limits of the settings tables.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Setting } from "@isochrone/runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHART, Helm, helmSupport, SECTIONS, type ChartValues } from "../harness/helm/index.ts";

const support = helmSupport();
if (!support.supported) console.warn(`the chart is not rendered: ${support.reason}`);

interface Bounded {
  readonly section: string;
  readonly key: string;
  readonly setting: Setting<unknown>;
}

interface ChartSchema {
  readonly definitions: {
    readonly settings: { readonly properties: Readonly<Record<string, { readonly properties: object }>> };
  };
}

const { settings } = (JSON.parse(readFileSync(join(CHART, "values.schema.json"), "utf8")) as ChartSchema)
  .definitions;
/** Settings that the chart accepts as values. Retired names are known to the chart but have no limits. */
const KNOWN: readonly Bounded[] = [...new Set(Object.values(SECTIONS).flat())].flatMap(({ name, table }) =>
  Object.keys(settings.properties[name]?.properties ?? {}).flatMap((key) => {
    const setting = table[key];
    return setting === undefined ? [] : [{ section: name, key, setting }];
  }),
);
const OPEN = KNOWN.filter(({ setting }) => setting.removed === null);
const TEXT_OF: Readonly<Record<string, (value: number) => string>> = {
  duration: (value) => `${value} ms`,
  bytes: (value) => `${value}B`,
  ratio: (value) => `${value * 100}%`,
};
const BOUNDS = ["minimum", "maximum"] as const;
const beyond = (bound: (typeof BOUNDS)[number], value: number): number =>
  bound === "minimum" ? value - 1 : value + 1;
const limitOf = (bound: (typeof BOUNDS)[number], { setting }: Bounded): number =>
  Number(setting.schema[bound]);
const nameOf = ({ section, key }: Bounded): string => `${section}.${key}`;

describe.runIf(support.supported)("bounds of settings in the chart", { timeout: 60_000 }, () => {
  let helm: Helm;

  beforeAll(async () => {
    helm = await Helm.open();
  }, 900_000);
  afterAll(() => helm?.close());

  const saidOf = async (all: readonly Bounded[], value: (one: Bounded) => unknown): Promise<string> => {
    const given: Record<string, Record<string, unknown>> = {};
    for (const one of all) (given[one.section] ??= {})[one.key] = value(one);
    return (await helm.tryTemplate({ settings: given } satisfies ChartValues)).stderr;
  };

  test.each(BOUNDS)("the %s is taken, and one beyond it is refused, as by the service", async (bound) => {
    const all = OPEN.filter(({ setting }) => bound in setting.schema);
    expect(all.length).toBeGreaterThan(30);
    const least = (one: Bounded): number => limitOf(bound, one);
    const wrong = (one: Bounded): number => beyond(bound, least(one));
    const refusals = await saidOf(all, wrong);
    const untold = all.filter(({ section, key }) => {
      return !new RegExp(`settings/${section}/${key}'?: ${bound}`).test(refusals);
    });
    expect(untold.map(nameOf)).toEqual([]);
    expect(await saidOf(all, least)).not.toMatch(/: (?:minimum|maximum)/);
    expect(all.filter((one) => !one.setting.parse(least(one)).ok).map(nameOf)).toEqual([]);
    expect(all.filter((one) => one.setting.parse(wrong(one)).ok).map(nameOf)).toEqual([]);
  });

  test.each(BOUNDS)("so is the %s as text with a unit, and one beyond it", async (bound) => {
    const all = OPEN.filter(({ setting }) => setting.units !== null && bound in setting.schema);
    const words = bound === "minimum" ? "must be at least" : "must be at most";
    const least = (one: Bounded): string => TEXT_OF[one.setting.kind]!(limitOf(bound, one));
    const refusals = await saidOf(all, (one) =>
      TEXT_OF[one.setting.kind]!(beyond(bound, limitOf(bound, one))),
    );
    expect(all.filter((one) => !refusals.includes(`settings.${nameOf(one)} ${words} `)).map(nameOf)).toEqual(
      [],
    );
    expect(await saidOf(all, least)).not.toMatch(/must be at (?:least|most)|does not match pattern/);
    expect(all.filter((one) => !one.setting.parse(least(one)).ok).map(nameOf)).toEqual([]);
  });

  test("a setting of an earlier version is taken, so that an upgrade goes on", async () => {
    const removed = KNOWN.filter(({ setting }) => setting.removed !== null);
    expect(removed.length).toBeGreaterThan(100);
    expect(await saidOf(removed, () => "5 parsecs")).toBe("");
  });

  test("what is no number, flag, list or text of its setting is refused, whichever it is", async () => {
    const refusals = await saidOf(OPEN, () => ({ a: "table" }));
    const untold = OPEN.filter(({ section, key }) => !refusals.includes(`settings/${section}/${key}'`));
    expect(untold.map(nameOf)).toEqual([]);
    const quantities = OPEN.filter(({ setting }) => setting.units !== null);
    const words = await saidOf(quantities, () => "5 parsecs");
    const taken = quantities.filter(({ section, key }) => !words.includes(`settings/${section}/${key}'`));
    expect(taken.map(nameOf)).toEqual([]);
  });
});
