import { list } from "@isochrone/runtime";
import { DECLARATION_RIGHT } from "@isochrone/topology";

/** Who may declare for whom. */
export const DECLARATION_SETTINGS = {
  declareFor: list({
    default: [],
    pattern: DECLARATION_RIGHT,
    patternRule: "must hold only pairs of namespaces such as platform->shop, either of which may be *",
    description:
      "Pairs of namespaces such as platform->shop: objects in the first one declare channels of the second one's workloads, and what they demand of the network binds its pods, as if they were its own. * is any namespace; without entries objects declare for their own namespace alone.",
  }),
};
