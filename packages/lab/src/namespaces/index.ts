export { NamespaceLab } from "./namespace-lab.ts";
export { namespaceLabSupport } from "./support.ts";
