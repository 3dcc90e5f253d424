// What NetworkOverhead tells nodes apart by: the pair of region and zone. A cluster has hundreds of nodes and
// tens of such pairs. Source: KEP-260 and its code.

/** Labels of a node; null and "" = it has none. */
interface LabelledNode {
  readonly region: string | null;
  readonly zone: string | null;
}

/** Nodes grouped by region and zone. Depends on the nodes alone, so that it is made once per graph. */
export class NodeAreas {
  /** By node: its area. */
  readonly areaOf: Int32Array;
  /** By area; "" = without that label. */
  readonly region: readonly string[];
  readonly zone: readonly string[];
  /** By area: a node of it; -1 without any. */
  readonly sample: readonly number[];
  /** The area of nodes with neither label; there is one even when no node is of it. */
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
