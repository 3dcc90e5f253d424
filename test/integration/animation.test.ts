import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Browser, Page } from "playwright-core";
import { hasBrowser, launchBrowser } from "../harness/browser.ts";
import { toAnimation } from "../screenshots/animation.ts";

const SIZE = { width: 60, height: 40 };
/** Pixel at (x, y) of each frame, and the frame's duration, ms. */
const DECODE = `async (base64) => {
  const data = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
  const decoder = new ImageDecoder({ data, type: "image/png" });
  await decoder.tracks.ready;
  await decoder.completed;
  const { frameCount } = decoder.tracks.selectedTrack;
  const context = new OffscreenCanvas(60, 40).getContext("2d");
  const frames = [];
  for (let frameIndex = 0; frameIndex < frameCount; frameIndex++) {
    const { image } = await decoder.decode({ frameIndex });
    context.drawImage(image, 0, 0);
    const at = (x, y) => [...context.getImageData(x, y, 1, 1).data].slice(0, 3).join(",");
    frames.push([at(5, 5), at(30, 20), at(55, 35), image.duration / 1000]);
  }
  return frames;
}`;

describe.skipIf(!hasBrowser)("an animated PNG", () => {
  let browser: Browser;
  let page: Page;
  /** Browsers decode single frames only on pages of a secure origin. */
  const server = createServer((_, response) => void response.end("<!doctype html>"));

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    browser = await launchBrowser();
    page = await browser.newPage({ viewport: SIZE });
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  });
  afterAll(async () => {
    await browser?.close();
    server.close();
  });

  async function pictured(inner: string): Promise<Buffer> {
    await page.setContent(`<body style="margin:0;background:#fff">${inner}`);
    return page.screenshot();
  }
  const square = (colour: string): string =>
    `<i style="position:absolute;left:20px;top:10px;width:20px;height:20px;background:${colour}"></i>`;

  test("has each frame as it was, and shows equal ones as one for as long as both", async () => {
    const [empty, red, green] = [
      await pictured(""),
      await pictured(square("#f00")),
      await pictured(square("#080")),
    ];
    const animation = toAnimation([
      { png: empty, ms: 500 },
      { png: empty, ms: 250 },
      { png: red, ms: 700 },
      { png: green, ms: 100 },
    ]);
    const shown = await page.evaluate(`(${DECODE})(${JSON.stringify(animation.toString("base64"))})`);
    const white = "255,255,255";
    expect(shown).toEqual([
      [white, white, white, 750],
      [white, "255,0,0", white, 700],
      [white, "0,136,0", white, 100],
    ]);
  });

  test("refuses frames of another size", async () => {
    const png = await pictured("");
    await page.setViewportSize({ width: 61, height: 40 });
    const other = await pictured("");
    expect(() =>
      toAnimation([
        { png, ms: 1 },
        { png: other, ms: 1 },
      ]),
    ).toThrow("frame 1 must be 60 x 40, got 61 x 40");
  });
});
