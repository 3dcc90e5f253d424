import { readFileSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultSites } from "@isochrone/lab";
import { expect, test } from "vitest";
import { embeddedPrices } from "./demo-prices.ts";

const place = ({ region, zone }: { readonly region: string; readonly zone: string }) =>
  ({ provider: "own", region, zone }) as const;

test("every pair of the demo's nodes has a public price, with its source; other networks borrow none", () => {
  const table = embeddedPrices({});
  const sites = defaultSites(16).map(place);
  for (const a of sites)
    for (const b of sites) {
      const price = table.between(a, b);
      const listed = a.region !== b.region ? 0.02 : a.zone !== b.zone ? 0.02 : 0;
      expect(price, `${a.zone} to ${b.zone}`).toMatchObject({ perByte: listed / 1e9 });
      if (typeof price === "string") continue;
      for (const { source } of price.rows) expect(source).toMatch(/^https:.* of (us|eu)-/);
      expect(table.outside(a, "internet")).toMatchObject({ sentPerByte: 0.09 / 1e9 });
    }
  for (const options of [{ matrix: "network.csv" }, { kubeconfig: "config" }])
    expect(embeddedPrices(options).between(sites[0]!, sites[0]!)).toBe("no_price");
});

test("the file of docs/bill.md is read as it stands, and as its value of the chart alone", () => {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-prices-"));
  try {
    const page = readFileSync(join(import.meta.dirname, "../../../docs/bill.md"), "utf8");
    const [, whole] = /```yaml\n(prices:\n[^`]*?)```/.exec(page.slice(page.indexOf("## Prices")))!;
    const inner = whole!.replace(/^prices:\n/, "").replace(/^ {2}/gm, "");
    const file = join(folder, "prices.yaml");
    const [a, b] = [
      { region: "r", zone: "x" },
      { region: "r", zone: "y" },
    ].map(place);
    for (const text of [whole!, inner]) {
      writeFileSync(file, text);
      expect(embeddedPrices({ prices: file }).between(a!, b!)).toMatchObject({ perByte: 0.004 / 1e9 });
    }
    writeFileSync(file, whole!.replace("0.004", "-1"));
    expect(() => embeddedPrices({ prices: file })).toThrow(`${file}: prices[0].out must be a number from 0`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
