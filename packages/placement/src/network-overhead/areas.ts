// NetworkOverhead distinguishes nodes by region and zone only.

interface LabelledNode {
  readonly region: string | null;
  readonly zone: string | null;
}

/** Groups nodes by region and zone; "" stands for a missing label. Built once per graph. */
export class NodeAreas {
  readonly areaOf: Int32Array;
  readonly region: readonly string[];
  readonly zone: readonly string[];
  /** A sample node of each area; -1 if it has none. */
  readonly sample: readonly number[];
  /** Area of nodes without labels. It exists even if no node belongs to it. */
  readonly unlabelled: number;

  constructor(nodes: readonly LabelledNode[]) {
    const region: string[] = [];
    const zone: string[] = [];
    const sample: number[] = [];
    const byRegion = new Map<string, Map<string, number>>();
    const areaOf = (ownRegion: string, ownZone: string, node: number): number => {
      let byZone = byRegion.get(ownRegion);
      if (byZone === undefined) byRegion.set(ownRegion, (byZone = new Map()));
      let area = byZone.get(ownZone);
      if (area === undefined) {
        byZone.set(ownZone, (area = region.length));
        region.push(ownRegion);
        zone.push(ownZone);
        sample.push(node);
      }
      return area;
    };
    this.areaOf = Int32Array.from(nodes, (node, id) => areaOf(node.region ?? "", node.zone ?? "", id));
    this.unlabelled = areaOf("", "", -1);
    this.region = region;
    this.zone = zone;
    this.sample = sample;
  }

  get count(): number {
    return this.region.length;
  }
}
