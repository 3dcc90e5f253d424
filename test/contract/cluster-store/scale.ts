import { expect, it } from "vitest";
import { KINDS } from "@isochrone/kubernetes";
import type { StoreHarness } from "./harness.ts";

export function describeScale(under: StoreHarness): void {
  const web = { ...KINDS.deployment, namespace: "default", name: "web" };

  it("changes the number alone, and only from the number that was expected", async () => {
    const labels = { app: "web" };
    const template = { metadata: { labels }, spec: { containers: [{ name: "main", image: "none" }] } };
    await under.store.create({
      ...KINDS.deployment,
      metadata: { namespace: "default", name: "web" },
      spec: { replicas: 2, selector: { matchLabels: labels }, template },
    });
    await under.store.scale(web, { from: 2, to: 3 });
    await expect(under.store.scale(web, { from: 2, to: 4 })).rejects.toMatchObject({ code: "conflict" });
    const found = await under.store.get(web);
    expect(found?.spec?.replicas).toBe(3);
    expect(found?.spec?.selector).toEqual({ matchLabels: labels });
    await under.store.delete(web);
    await expect(under.store.scale(web, { from: 3, to: 4 })).rejects.toMatchObject({ code: "not_found" });
  });
}
