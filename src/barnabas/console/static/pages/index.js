// The pages in the order of the navigation. `key`: g and this letter goes there.
import { Clients } from "./clients.js";
import { Groups } from "./groups/index.js";
import { Access } from "./access/index.js";
import { Cluster } from "./cluster/index.js";
import { Overview } from "./overview.js";
import { Search } from "./search.js";
import { Pipelines } from "./pipelines.js";
import { Topics } from "./topics.js";
import { Transactions } from "./transactions.js";

export const PAGES = [
  { name: "overview", title: "Overview", icon: "◉", key: "o", component: Overview },
  { name: "topics", title: "Topics", icon: "≡", key: "t", component: Topics },
  { name: "search", title: "Search", icon: "⌕", key: "s", component: Search },
  { name: "groups", title: "Groups", icon: "◎", key: "u", component: Groups },
  { name: "clients", title: "Clients", icon: "◫", key: "l", component: Clients },
  { name: "transactions", title: "Transactions", icon: "⇄", key: "x", component: Transactions },
  { name: "pipelines", title: "Pipelines", icon: "⇶", key: "p", component: Pipelines },
  { name: "cluster", title: "Cluster", icon: "▦", key: "c", component: Cluster },
  { name: "access", title: "Access", icon: "◈", key: "a", component: Access },
];
