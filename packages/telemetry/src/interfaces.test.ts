import { describe, expect, test } from "vitest";
import { InterfaceChoice, interfaceKind } from "./interfaces.ts";

function chosen(...names: readonly string[]): string[] {
  const choice = new InterfaceChoice();
  for (const name of names) choice.see(name);
  return names.filter((name) => choice.counts(name));
}

describe("interfaces by name", () => {
  test.each(
    "eth0 eth1 eno1 eno1np0 ens5 ens5f0 ens192 enp3s0 enp0s31f6 enp65s0f0np0 enx001122334455 enc1000 end0 em1 p1p2 p4p1 ib0 ibp65s0 ibs1 wlan0 wlp2s0 wwp0s20f0u3 hsn0".split(
      " ",
    ),
  )("%s is a card", (name) => {
    expect(interfaceKind(name)).toBe("card");
  });

  test.each(
    "lo veth12ab cali9f00 lxc_health eni0a1b2c3d4e gke0123abcd docker0 br-ex cni0 cilium_host ovs-system ovn-k8s-mp0 genev_sys_6081 vx-submariner vxlan.calico wireguard.cali tailscale0 flannel.1 tunl0 wg0 bond0 team0 eth0.100 enp3s0.5 ztabcdef zt0 nebula1 kilo0 kube-ipvs0 dummy0".split(
      " ",
    ),
  )("%s is carried by another one, or by none", (name) => {
    expect(interfaceKind(name)).toBe("carried");
  });

  test("of which nothing is known don't count beside a card", () => {
    expect(chosen("ens5", "mystery0", "overlay7")).toEqual(["ens5"]);
    expect(chosen("ens5", "ovn-k8s-mp0", "tailscale0", "vx-submariner", "br-ex", "genev_sys_6081")).toEqual([
      "ens5",
    ]);
  });

  test("of which nothing is known count where there is one only", () => {
    expect(chosen("lan0", "docker0", "wg0")).toEqual(["lan0"]);
    expect(chosen("lan0", "mystery0")).toEqual([]);
    const choice = new InterfaceChoice();
    for (const name of ["lan0", "mystery0"]) choice.see(name);
    expect(choice.isUnclear("lan0")).toBe(true);
    choice.see("eth0");
    expect([choice.isUnclear("lan0"), choice.counts("lan0"), choice.counts("eth0")]).toEqual([
      false,
      false,
      true,
    ]);
  });

  test("of a bond count by its cards, and several cards add up", () => {
    expect(chosen("bond0", "eno1", "eno2", "bond0.7")).toEqual(["eno1", "eno2"]);
  });

  test("that are the lower half of a cloud's card count once", () => {
    expect(chosen("eth0", "enP28173s1")).toEqual(["eth0"]);
    expect(chosen("enP1p2s0", "enP28173s1")).toEqual(["enP1p2s0", "enP28173s1"]);
  });
});
