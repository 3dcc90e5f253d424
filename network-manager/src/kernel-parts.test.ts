import { expect, test } from "vitest";
import { lookAtKernelParts } from "./kernel-parts.ts";

test("each part is there, or it is said why not; nothing is left of the attempt", async () => {
  const { parts, foreignQdiscs } = await lookAtKernelParts();
  expect(parts.map(({ part }) => part)).toEqual(["HTB queues", "nftables", "policy routing", "VXLAN"]);
  expect(parts.filter(({ obstacle }) => obstacle?.trim() === "")).toEqual([]);
  expect(foreignQdiscs?.some((name) => name.startsWith("lo: htb")) ?? false).toBe(false);
});
