import { ManualClock } from "@isochrone/runtime/testing";
import { describe, expect, it } from "vitest";
import { watchView } from "./show.ts";
import { paintedMs } from "./heat.ts";
import type { Screen, ShowOptions, View } from "./show.ts";

const view = (n: number): View => ({
  value: { n },
  text: (canvas) => `n is\n${canvas ? paintedMs(String(n), n, canvas) : n}`,
});

async function watched(
  output: ShowOptions["output"],
  screen: Omit<Screen, "write">,
  reads: readonly (number | Error)[],
): Promise<{ written: string[]; notes: string[] }> {
  const [written, notes]: [string[], string[]] = [[], []];
  const clock = new ManualClock();
  const ended = new AbortController();
  let at = 0;
  const read = async (): Promise<View> => {
    const next = reads[at++];
    if (next === undefined) {
      ended.abort();
      return view(-1);
    }
    if (next instanceof Error) throw next;
    return view(next);
  };
  const done = watchView(
    read,
    { output, watch: 1_000 },
    {
      screen: { ...screen, write: (text: string) => written.push(text) },
      clock,
      signal: ended.signal,
      note: (text) => notes.push(text),
    },
  );
  const settled = Promise.withResolvers<void>();
  done.then(settled.resolve, settled.reject);
  settled.promise.catch(() => undefined);
  for (let look = 0; look <= reads.length; look++) await clock.advance(1_000);
  await settled.promise;
  return { written, notes };
}

describe("a watch", () => {
  it("prints a JSON document per line where there is no terminal, also for tables", async () => {
    const { written } = await watched("table", {}, [1, 2]);
    expect(written).toEqual(['{"n":1}\n', '{"n":2}\n']);
  });

  it("parts YAML documents", async () => {
    expect((await watched("yaml", { isTTY: true }, [1])).written).toEqual(["---\nn: 1\n"]);
  });

  it("draws tables over themselves on a terminal, cut to its height", async () => {
    const { written } = await watched("table", { isTTY: true, rows: 4 }, [1]);
    expect(written).toHaveLength(1);
    expect(written[0]!.startsWith("\u001b[H")).toBe(true);
    expect(written[0]).toContain("2 lines more");
  });

  it("paints what has colours where the terminal has them", async () => {
    const on = async (depth: number): Promise<string | undefined> =>
      (await watched("table", { isTTY: true, getColorDepth: () => depth }, [1])).written[0];
    expect(await on(24)).toContain("\u001b[38;2;255;255;255;48;2;0;97;163m1\u001b[0m");
    expect(await on(1)).toContain("n is\u001b[K\n1\u001b[K");
  });

  it("goes on when a later look fails, and says so", async () => {
    const { written, notes } = await watched("json", {}, [1, new Error("gone"), 3]);
    expect(written).toEqual(['{"n":1}\n', '{"n":3}\n']);
    expect(notes).toEqual(["gone"]);
  });

  it("keeps the last table on a terminal, and names the failure above it", async () => {
    const { written } = await watched("table", { isTTY: true }, [1, new Error("gone")]);
    expect(written[1]).toContain("the last look failed, this is older: gone");
    expect(written[1]).toContain("n is");
  });

  it("fails as its first look fails", async () => {
    await expect(watched("json", {}, [new Error("refused")])).rejects.toThrow("refused");
  });

  it("doesn't draw", async () => {
    await expect(watched("dot", {}, [1])).rejects.toThrow("--watch goes with");
  });
});
