import { KINDS } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { expect, onTestFinished, test } from "vitest";
import { NodeImages } from "./node-images.ts";

test("images are known by what runtimes call them, with their sizes; what can't be read is none", async () => {
  const clock = new ManualClock();
  const store = createMemoryStore({ clock });
  const node = (name: string, images: unknown) =>
    store.create({ ...KINDS.node, metadata: { name }, status: { images } });
  await node("n1", [
    { names: ["docker.io/library/nginx@sha256:1", "docker.io/library/nginx:latest"], sizeBytes: 5e7 },
    { names: ["localhost:5000/db:2"], sizeBytes: 1e8 },
    { names: ["docker.io/acme/web:1"], sizeBytes: "many" },
  ]);
  await node("n2", "none");
  await node("n3", [{ names: "nginx" }, null, 7]);
  const images = new NodeImages({ store, clock, random: seededRandom(1), logger: new MemoryLogger() });
  onTestFinished(() => images.stop());
  await images.start();
  await clock.advance(1_000);
  const has = (name: string): boolean => images.hasAll("n1", [name]);
  expect(["nginx", "nginx:latest", "library/nginx", "localhost:5000/db:2", "acme/web:1"].map(has)).toEqual(
    Array.from({ length: 5 }, () => true),
  );
  expect(["nginx:1", "db:2", "localhost:5000/db", "acme/web"].map(has)).toEqual(
    Array.from({ length: 4 }, () => false),
  );
  expect([images.sizeMb(["nginx", "localhost:5000/db:2"]), images.sizeMb(["acme/web:1"])]).toEqual([150, 0]);
  expect(images.sizeMb(["nginx", "unheard-of"])).toBeNull();
  expect(["n2", "n3", "n4"].map((name) => images.hasAll(name, ["nginx"]))).toEqual([false, false, false]);
  await store.delete({ ...KINDS.node, name: "n1" });
  await clock.advance(1_000);
  expect(has("nginx")).toBe(false);
});
