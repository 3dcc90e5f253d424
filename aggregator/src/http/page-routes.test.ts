import { createRegistry } from "@isochrone/runtime";
import { createHttpApp, type HttpApp } from "@isochrone/runtime/http";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { registerPage } from "./page-routes.ts";

let app: HttpApp;

beforeEach(async () => {
  app = await createHttpApp({
    name: "test",
    logger: new MemoryLogger(),
    registry: createRegistry(),
    bodyLimitBytes: 1024,
    ready: () => ({ ready: true, reasons: [] }),
  });
  registerPage(app, {
    assets: new Map([
      ["/", { contentType: "text/html; charset=utf-8", body: "<h1>page</h1>" }],
      ["/assets/app.js", { contentType: "text/javascript; charset=utf-8", body: Buffer.from("1") }],
    ]),
  });
});

afterEach(() => app.close());

describe("page", () => {
  test("the document is at / with a policy that lets nothing else in", async () => {
    const answer = await app.inject("/");
    expect(answer.body).toBe("<h1>page</h1>");
    expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(answer.headers["content-security-policy"]).toContain("default-src 'none'; script-src 'self'");
    expect(answer.headers["x-content-type-options"]).toBe("nosniff");
  });

  test("an asset that the browser has is not sent again", async () => {
    const first = await app.inject("/assets/app.js");
    const again = await app.inject({
      url: "/assets/app.js",
      headers: { "if-none-match": `W/${String(first.headers["etag"])}` },
    });
    expect([first.statusCode, again.statusCode, again.body]).toEqual([200, 304, ""]);
  });
});
