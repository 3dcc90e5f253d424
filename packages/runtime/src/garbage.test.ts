import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { hasHeapLimit } from "./garbage.ts";

test.each([
  [{ NODE_OPTIONS: "--enable-source-maps --max-old-space-size=1152" }, [], true],
  [{ NODE_OPTIONS: "--max_old_space_size=96" }, [], true],
  [{}, ["--max-old-space-size=1152"], true],
  [{ NODE_OPTIONS: "--max-semi-space-size=32" }, ["--enable-source-maps"], false],
  [{}, [], false],
])("a heap has a limit: %j %j", (env, execArgv, limited) => {
  expect(hasHeapLimit(env, execArgv)).toBe(limited);
});

const WEAR_OUT = `
  import { getHeapSpaceStatistics } from "node:v8";
  const kept = Array.from({ length: 300_000 }, (_, at) => ({ at, more: [at, at + 1] }));
  let draw = 1;
  for (let i = 0; i < 2_000_000; i++) {
    draw = (draw * 48_271) % 2_147_483_647;
    kept[draw % kept.length] = { at: draw, more: new Array(1 + (draw % 12)).fill(draw) };
  }
  const old = getHeapSpaceStatistics().find((space) => space.space_name === "old_space");
  console.log(old.space_size / 2 ** 20);
`;

test("a dense heap takes fewer pages, by flags that V8 knows", { timeout: 60_000 }, () => {
  const pages = (dense: boolean): number => {
    const tune = `import { keepHeapDense } from ${JSON.stringify(new URL("garbage.ts", import.meta.url))};`;
    const program = dense ? `${tune} keepHeapDense(); ${WEAR_OUT}` : WEAR_OUT;
    const { stdout, stderr, status } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    expect(status).toBe(0);
    return Number(stdout);
  };
  expect(pages(true)).toBeLessThan(pages(false) * 0.85);
});
