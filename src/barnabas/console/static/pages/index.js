// The pages in the order of the navigation. `key`: g and this letter goes there. The first page comes with the frame; the
// others when they are opened, so that a first visit waits for nothing it does not show.
import { Overview } from "./overview.js";

export const PAGES = [
  { name: "overview", title: "Overview", icon: "◉", key: "o", component: Overview },
  { name: "topics", title: "Topics", icon: "≡", key: "t", load: async () => (await import("./topics.js")).Topics },
  { name: "schemas", title: "Schemas", icon: "◇", key: "m", load: async () => (await import("./schemas/index.js")).Schemas },
  { name: "search", title: "Search", icon: "⌕", key: "s", load: async () => (await import("./search.js")).Search },
  { name: "groups", title: "Groups", icon: "◎", key: "u", load: async () => (await import("./groups/index.js")).Groups },
  { name: "clients", title: "Clients", icon: "◫", key: "l", load: async () => (await import("./clients.js")).Clients },
  { name: "transactions", title: "Transactions", icon: "⇄", key: "x", load: async () => (await import("./transactions.js")).Transactions },
  { name: "pipelines", title: "Pipelines", icon: "⇶", key: "p", load: async () => (await import("./pipelines.js")).Pipelines },
  { name: "cluster", title: "Cluster", icon: "▦", key: "c", load: async () => (await import("./cluster/index.js")).Cluster },
  { name: "clusters", title: "Other clusters", icon: "⇌", key: "r", load: async () => (await import("./clusters.js")).Clusters },
  { name: "access", title: "Access", icon: "◈", key: "a", load: async () => (await import("./access/index.js")).Access },
];
