import { describe, expect, it } from "vitest";
import { createPage } from "./index.ts";

describe("createPage", () => {
  const { assets } = createPage();

  it("has a document whose every local reference exists", () => {
    const document = assets.get("/")!;
    expect(document.contentType).toContain("text/html");
    const references = [...document.body.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(
      ([, path]) => path!,
    );
    expect(references.length).toBeGreaterThan(2);
    for (const path of references) expect([path, assets.has(path)]).toEqual([path, true]);
  });

  it("serves modules as JavaScript whose imports resolve, without a type left in them", () => {
    const modules = [...assets].filter(([path]) => path.endsWith(".ts"));
    expect(modules.length).toBeGreaterThan(2);
    for (const [path, { contentType, body }] of modules) {
      expect(contentType).toContain("text/javascript");
      expect(body).not.toMatch(/^\s*(interface|type) /m);
      for (const [, specifier] of body.matchAll(/from "([^"]+)"/g))
        expect([path, specifier, assets.has(`/assets/${specifier!.slice(2)}`)]).toEqual([
          path,
          specifier,
          true,
        ]);
    }
  });

  it("holds no inline script or style, so that a strict content security policy can hold", () => {
    const { body } = assets.get("/")!;
    expect(body).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=/);
  });
});
