import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../harness/browser.ts";
import { startPageTestbed, type PageTestbed } from "../harness/page-testbed.ts";
import { expectSlowest, PageVisit } from "../harness/page-visit.ts";

const NODES = 6;
/** More pods on a node than its rings have room for. */
const SHOP = Array.from({ length: 50 }, (_, index) => [`svc-${index}`, index < 4 ? index : 5] as const);

describe.runIf(hasBrowser)("the network's page", () => {
  let testbed: PageTestbed;
  let visit: PageVisit;
  let page: Page;

  beforeAll(async () => {
    testbed = await startPageTestbed({
      nodes: NODES,
      zoneSize: 2,
      degree: NODES - 1,
      shop: SHOP,
      settings: { coordinateIntervalMs: 2000, windowMs: 12_000, paneMs: 2000 },
    });
    visit = await PageVisit.open(testbed.url);
    page = visit.page;
    await page.waitForSelector(`#nodes tbody tr:nth-child(${NODES})`, { timeout: 20_000 });
  }, 60_000);

  afterAll(async () => {
    await visit?.close();
    await testbed?.stop();
  });

  /** Centre of a cell in canvas pixels. */
  const middleOf = async (row: number, column: number): Promise<{ x: number; y: number }> =>
    await page.evaluate(
      `(() => {
        const canvas = document.getElementById("matrix");
        const { left, top, width } = canvas.getBoundingClientRect();
        const margin = Number(canvas.dataset.margin);
        const side = (canvas.clientHeight - margin) / ${NODES};
        return { x: left + margin + ${column + 0.5} * side, y: top + margin + ${row + 0.5} * side };
      })()`,
    );
  const pointAt = async (row: number, column: number): Promise<void> => {
    await page.locator("#matrix").scrollIntoViewIfNeeded();
    const { x, y } = await middleOf(row, column);
    await page.mouse.move(x, y);
  };

  test("says of the cell under the pointer what is measured, beside the pointer and to who listens", async () => {
    await pointAt(1, 4);
    const tooltip = page.locator(".tooltip");
    await expect.poll(() => tooltip.locator("strong").textContent()).toBe("node-0002 → node-0005");
    await expect
      .poll(
        async () => {
          await testbed.publish();
          return await tooltip.textContent();
        },
        { timeout: 40_000, interval: 1000 },
      )
      .toMatch(/median [\d.]+ ms/);
    expect(await page.locator("#readout").textContent()).toContain("node-0002 → node-0005: ");
    const [pointer, box] = [await middleOf(1, 4), (await tooltip.boundingBox())!];
    expect(Math.hypot(box.x - pointer.x, box.y - pointer.y)).toBeLessThan(
      60 + Math.hypot(box.width, box.height),
    );
    const frame = (await page.locator(".canvas-frame").boundingBox())!;
    expect(box.x >= frame.x && box.x + box.width <= frame.x + frame.width + 1).toBe(true);
    // The cell's values follow the newest graph while the pointer rests.
    testbed.set(1, 4, 77);
    await expect
      .poll(
        async () => {
          await testbed.publish();
          return await tooltip.textContent();
        },
        { timeout: 40_000, interval: 1000 },
      )
      .toMatch(/median 7\d(\.\d)? ms/);
    await page.mouse.move(0, 0);
    await expect.poll(() => tooltip.count()).toBe(0);
  }, 60_000);

  test("has the last colour of the legend for a link that is very slow", async () => {
    testbed.set(2, 5, 420);
    const isPublishing = new AbortController();
    const publishing = (async () => {
      while (!isPublishing.signal.aborted) {
        await testbed.publish();
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    })();
    try {
      await expectSlowest(visit, "node-0003", "node-0006", 40_000);
    } finally {
      isPublishing.abort();
      await publishing;
    }
  }, 60_000);

  test("draws a crosshair along the row and the column that are pointed at", async () => {
    const lineAt = async (): Promise<number[]> =>
      await page.evaluate(
        `(() => {
          const canvas = document.getElementById("matrix");
          const ratio = canvas.width / canvas.clientWidth;
          const margin = Number(canvas.dataset.margin);
          const side = (canvas.clientHeight - margin) / ${NODES};
          const at = (row, column) =>
            [...canvas.getContext("2d").getImageData((margin + column * side) * ratio, (margin + row * side) * ratio, 1, 1).data];
          // On the upper edge of the row, and on the left edge of the column, far from the cell itself.
          return [...at(2, 4.5), ...at(4.5, 3)];
        })()`,
      );
    const before = await lineAt();
    await pointAt(2, 3);
    await expect.poll(lineAt).not.toEqual(before);
    const [row, column] = [(await lineAt()).slice(0, 3), (await lineAt()).slice(4, 7)];
    expect(row).not.toEqual(before.slice(0, 3));
    expect(column).not.toEqual(before.slice(4, 7));
    await page.mouse.move(0, 0);
  });

  test("shows a percentile of too few samples as such", async () => {
    const few = await startPageTestbed({ nodes: 3, zoneSize: 3, degree: 2 });
    const other = await PageVisit.open(few.url);
    try {
      await other.goTo("/network?show=p99");
      // Nodes may appear before the measurements between them.
      await other.page.waitForSelector("#worst tbody tr", { timeout: 20_000 });
      expect(await other.page.locator("#legend").textContent()).toContain("too few samples, below 100");
      await other.page.locator("#matrix").focus();
      await other.page.keyboard.press("ArrowDown");
      await other.page.keyboard.press("ArrowRight");
      await expect
        .poll(() => other.page.locator("#readout").textContent())
        .toContain("p99: too few samples, 25 of 100");
      expect(await other.barriers()).toEqual([]);
    } finally {
      await other.close();
      await few.stop();
    }
  }, 60_000);

  test("finds nodes by a few letters, in the tables and in the matrix", async () => {
    await page.fill("#find", "0004");
    await expect.poll(() => visit.column("#nodes", 1)).toEqual(["node-0004"]);
    const ends = [await visit.column("#worst", 1), await visit.column("#worst", 2)];
    expect(ends[0]!.every((from, index) => from === "node-0004" || ends[1]![index] === "node-0004")).toBe(
      true,
    );
    await page.locator("#find").press("Enter");
    await expect.poll(() => page.locator("#readout").textContent()).toContain("node-0004");
    await page.fill("#find", "nobody");
    await expect.poll(() => page.locator("main").textContent()).toContain("No node has that name");
    await page.fill("#find", "");
    await expect.poll(() => page.locator("#nodes tbody tr").count()).toBe(NODES);
  });

  test("has one row for two nodes, and no column of figures that nobody knows", async () => {
    const pairs = async (): Promise<string[]> => {
      const [from, to] = [await visit.column("#worst", 1), await visit.column("#worst", 2)];
      return from.map((name, index) => [name, to[index]!].sort().join(" "));
    };
    const names = testbed.names.flatMap((name, index) =>
      testbed.names.slice(index + 1).map((other) => `${name} ${other}`),
    );
    await expect
      .poll(
        async () => {
          await testbed.publish();
          return (await pairs()).sort();
        },
        { timeout: 20_000, interval: 1000 },
      )
      .toEqual(names.sort());
    const heads = await page.locator("#nodes thead th").allTextContents();
    expect(heads).not.toContain("Sends");
    expect(heads).toContain("Node");
  });

  test("shows a link that is cut in red, and as any other again once it has healed", async () => {
    const bad = page.locator("#worst tbody tr.bad");
    const publishUntil = async (isSo: () => Promise<boolean>): Promise<void> => {
      await expect
        .poll(
          async () => {
            await testbed.publish();
            return await isSo();
          },
          { timeout: 60_000, interval: 1000 },
        )
        .toBe(true);
    };
    await publishUntil(async () => (await page.locator("#worst tbody tr").count()) > 0);
    const tile = page.locator(".tile", { hasText: "No answer" });
    const cutUntil = async (ms: number | null, rows: number): Promise<void> => {
      testbed.set(0, 1, ms);
      testbed.set(1, 0, ms);
      await publishUntil(async () => (await bad.count()) === rows);
      await expect.poll(() => tile.locator("dd").textContent()).toContain(String(rows));
    };
    await cutUntil(null, 1);
    expect(await bad.textContent()).toMatch(/^node-0001node-0002no answerno answer.*100 %$/);
    expect(await tile.getAttribute("class")).toContain("bad");
    await cutUntil(3, 0);
    expect(await tile.getAttribute("class")).not.toContain("bad");
  }, 150_000);

  test("shows pods around their nodes on the map, and what a move by keys would change", async () => {
    await visit.goTo("/network/map");
    const pods = page.locator("#map .pod");
    await expect
      .poll(
        async () => {
          await testbed.publish();
          return await pods.count();
        },
        { timeout: 40_000, interval: 1000 },
      )
      .toBeGreaterThan(30);
    expect(await page.locator("#map .more").textContent()).toMatch(/^\+\d+$/);
    const boxes = await page.evaluate<{ x: number; y: number; width: number; height: number }[]>(
      `[...document.querySelectorAll("#map .names .label")].map((each) => each.getBoundingClientRect().toJSON())`,
    );
    expect(boxes.length).toBeGreaterThan(0);
    for (const [index, a] of boxes.entries())
      for (const b of boxes.slice(index + 1)) {
        const isApart =
          a.x + a.width <= b.x ||
          b.x + b.width <= a.x ||
          a.y + a.height <= b.y + 4 ||
          b.y + b.height <= a.y + 4;
        expect([a, b, isApart]).toEqual([a, b, true]);
      }
    await page.waitForSelector(".bar-row.today", { timeout: 20_000 });
    expect(await page.locator(".bar-row.moved").count()).toBe(0);
    await page.locator("#find-pod").fill("svc-1-");
    const choice = page.locator("#map-pods select");
    await expect.poll(() => choice.count()).toBe(1);
    await choice.focus();
    expect(await page.locator("#map .pointed").textContent()).toContain("svc-1");
    await choice.selectOption("node-0006");
    await expect.poll(() => page.locator("#what-if").textContent()).toContain("With 1 pod elsewhere");
    expect(await page.locator(".bar-row.moved").count()).toBeGreaterThan(0);
    expect(await page.locator("#map .pod.moved").count()).toBe(1);
    expect(await visit.barriers()).toEqual([]);
    await page.getByRole("button", { name: "As today" }).click();
    await expect.poll(() => page.locator("#map .pod.moved").count()).toBe(0);
    await visit.goTo("/network");
  }, 90_000);

  test("has no time slider where all is of now, and says so where the others show the past", async () => {
    const { times } = (await (await fetch(`${testbed.url}/api/v1/graph/history`)).json()) as {
      readonly times: readonly string[];
    };
    await visit.goTo(`/network?at=${encodeURIComponent(times[0]!)}`);
    await expect.poll(() => page.locator("#freshness").textContent()).toContain("the past");
    await page.getByRole("link", { name: "Health" }).click();
    await expect.poll(() => page.locator("#freshness").textContent()).toContain("live");
    expect(await page.locator("#moment").count()).toBe(0);
    expect(await page.locator(".time").textContent()).toContain("This page always shows now");
    expect(await visit.barriers()).toEqual([]);
    await page.getByRole("button", { name: "Back to now" }).click();
    await expect.poll(() => page.locator(".time").count()).toBe(0);
    await visit.goTo("/network");
    await page.waitForSelector("#moment");
  });

  test("has times below a plot that don't lie upon each other, at any width", async () => {
    await page.addInitScript(`(() => {
      const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
      globalThis.times = [];
      CanvasRenderingContext2D.prototype.clearRect = function (...all) {
        if (this.canvas.closest(".plot") !== null) globalThis.times = [];
        return clearRect.apply(this, all);
      };
      CanvasRenderingContext2D.prototype.fillText = function (text, x, ...rest) {
        const { a, e } = this.getTransform();
        if (/^\\d\\d:\\d\\d:\\d\\d$/.test(text))
          globalThis.times.push({ at: e + a * x, width: a * this.measureText(text).width });
        return fillText.call(this, text, x, ...rest);
      };
    })()`);
    await visit.goTo(`/pair/${testbed.names[0]!}/${testbed.names[1]!}`);
    await page.reload();
    const times = async (): Promise<{ at: number; width: number }[]> =>
      await page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(times), 30)))",
      );
    await expect.poll(async () => (await times()).length, { timeout: 30_000 }).toBeGreaterThan(1);
    // The spacing depends on the width. Some of these widths have the minimum spacing.
    for (let width = 340; width <= 760; width += 12) {
      await page.setViewportSize({ width, height: 800 });
      const shown = await times();
      for (const [index, { at, width: text }] of shown.slice(1).entries())
        expect(at - shown[index]!.at, `at ${width} px`).toBeGreaterThan(text + 8);
    }
    await page.setViewportSize({ width: 1400, height: 1000 });
    await visit.goTo("/network");
  }, 60_000);

  test("asks each second while the event stream is lost, and says when no answer comes", async () => {
    let asked = 0;
    // Playwright can't route a SharedWorker's requests. Without one, the page reads the stream itself.
    await page.addInitScript("delete globalThis.SharedWorker");
    await page.route("**/api/v1/events**", (route) => route.abort());
    await page.reload();
    const freshness = page.locator("#freshness");
    await expect
      .poll(() => freshness.textContent(), { timeout: 20_000 })
      .toContain("asking every second instead");
    await page.route("**/graph/cluster/columns**", () => {
      asked++;
    });
    await expect
      .poll(() => freshness.textContent(), { timeout: 20_000 })
      .toContain("waiting for an answer for");
    await expect.poll(() => freshness.textContent(), { timeout: 30_000 }).toContain("no answer within 10 s");
    // A slow response must not slow down polling.
    await expect.poll(() => asked, { timeout: 30_000 }).toBeGreaterThan(1);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await expect.poll(() => freshness.textContent(), { timeout: 40_000 }).toContain("live");
  }, 150_000);
});
