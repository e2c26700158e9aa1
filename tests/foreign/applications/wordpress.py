"""WordPress (PHP-FPM) behind nginx, with MariaDB: the packages of Debian."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx

from tests.foreign import mariadb
from tests.foreign.faults import Fault, Undo, filled, killed, leads, lost, paused, refused, shows, small_disk
from tests.foreign.machine import Machine, wait_until
from tests.foreign.users import Page

SITE = "http://127.0.0.1:8080"

_NGINX = """daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.err; worker_processes 2; events {{}}
http {{
 include /etc/nginx/mime.types; access_log off; {temporary}
 server {{
  listen 127.0.0.1:8080; root {site}; index index.php;
  location / {{ try_files $uri $uri/ /index.php?$args; }}
  location ~ \\.php$ {{ include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
   fastcgi_pass 127.0.0.1:9000; fastcgi_read_timeout 30s; }}
 }}
 server {{
  listen 127.0.0.1:8081;
  location /stub_status {{ stub_status; }}
  location /status {{ include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME /status; fastcgi_param SCRIPT_NAME /status;
   fastcgi_pass 127.0.0.1:9000; }}
 }}
}}
"""

_POOL = """[global]
error_log = {folder}/php-fpm.log
daemonize = no
[www]
user = www-data
group = www-data
listen = 127.0.0.1:9000
pm = dynamic
pm.max_children = 8
pm.start_servers = 3
pm.min_spare_servers = 2
pm.max_spare_servers = 5
pm.status_path = /status
"""

_CONFIG = """<?php
define('DB_NAME', 'wordpress'); define('DB_USER', 'app'); define('DB_PASSWORD', 'app'); define('DB_HOST', '127.0.0.1');
define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
define('AUTOMATIC_UPDATER_DISABLED', true); define('WP_HTTP_BLOCK_EXTERNAL', true); define('DISABLE_WP_CRON', true);
define('WP_HOME', 'http://127.0.0.1:8080'); define('WP_SITEURL', 'http://127.0.0.1:8080');
$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""

_AS_ADDRESSED = "<?php remove_action('template_redirect', 'redirect_canonical');\n"
"""The site has no name but an address with a port."""

_SLOW_PLUGIN = """<?php /* Plugin Name: Related posts */
add_action('init', function () { global $wpdb;
 $wpdb->query("SELECT COUNT(*) FROM wp_comments a JOIN wp_comments b JOIN wp_options c
  ON a.comment_content LIKE CONCAT('%',c.option_name,'%') AND b.comment_content <> a.comment_content"); });
"""
_BROKEN_PLUGIN = """<?php /* Plugin Name: Share buttons */
add_action('template_redirect', function () { share_buttons_settings(); });
"""


class WordPress:
    """A weblog."""

    name = "wordpress"
    title = "WordPress 6.1 (PHP-FPM, nginx, MariaDB)"
    words: Mapping[str, str] = {
        "home": "the front page",
        "post": "an article",
        "search": "the search",
        "comment": "leaving a comment",
        "login": "the login page",
    }
    packages: tuple[str, ...] = (
        "wordpress",
        "wordpress-theme-twentytwentythree",
        "php8.2-fpm",
        "php8.2-mysql",
        "nginx-light",
        "prometheus",
        "prometheus-node-exporter",
        "prometheus-process-exporter",
        "prometheus-blackbox-exporter",
        "prometheus-nginx-exporter",
        *mariadb.PACKAGES,
    )

    def lacking(self) -> str:
        """A Debian package that is not there."""
        there = shutil.which("php-fpm8.2") and shutil.which("nginx") and Path("/usr/share/wordpress/wp-settings.php").is_file()
        return "" if there and shutil.which("mariadbd") else f"apt-get install --no-install-recommends {' '.join(self.packages)}"

    def install(self) -> None:
        """All of it are Debian packages."""

    def start(self, machine: Machine) -> None:
        """Server, database and site, installed through its own page."""
        folder, programs = machine.folder, machine.programs
        mariadb.start(machine, "wordpress", data=small_disk(machine, "mysql-data", 400))
        site = folder / "site"
        shutil.copytree("/usr/share/wordpress", site, symlinks=False, ignore=shutil.ignore_patterns("wp-config.php"))
        (site / "wp-config.php").write_text(_CONFIG, encoding="utf-8")
        _plugin("as-addressed", _AS_ADDRESSED)(machine)
        subprocess.run(["chown", "-R", "www-data", str(site)], check=True, timeout=60)
        (folder / "pool.conf").write_text(_POOL.format(folder=folder), encoding="utf-8")
        programs.run("php-fpm", ["php-fpm8.2", "--nodaemonize", "--fpm-config", str(folder / "pool.conf")])
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
        (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, site=site, temporary=temporary), encoding="utf-8")
        programs.run("nginx", ["nginx", "-c", str(folder / "nginx.conf")])
        wait_until(lambda: httpx.get(f"{SITE}/wp-admin/install.php", timeout=20.0).status_code == 200, 60.0, "WordPress")
        _set_up()
        status = "-nginx.scrape-uri=http://127.0.0.1:8081/stub_status"
        programs.run("nginx-exporter", ["prometheus-nginx-exporter", status, "-web.listen-address=127.0.0.1:9113"])
        machine.scrape("nginx", "127.0.0.1:9113")
        machine.scrape("php-fpm", "127.0.0.1:8081", "/status", ', params: {openmetrics: [""]}')
        machine.host("nginx", "php-fpm8.2", "mariadbd", "php8.2", "gzip", "mariadb-dump")
        machine.probe(f"{SITE}/", f"{SITE}/?p=1")

    def pages(self) -> tuple[str, Mapping[str, tuple[Page, float]], float]:
        """Readers, and now and then somebody who writes."""
        pages: dict[str, tuple[Page, float]] = {
            "home": (lambda c: c.get("/"), 5),
            "post": (lambda c: c.get("/?p=1"), 5),
            "search": (lambda c: c.get("/", params={"s": "hello"}), 2),
            "comment": (_comment, 2),
            "login": (lambda c: c.get("/wp-login.php"), 1),
        }
        return SITE, pages, 1.0

    def faults(self) -> tuple[Fault, ...]:
        """Faults of each layer."""
        down = (shows("db_up", database="mysql"), shows("memory", container="mariadbd"), shows("processes", container="mariadbd"))
        return (
            Fault("database-killed", "process_killed", "mariadb", killed("mariadb"), down),
            Fault("php-hangs", "process_paused", "php-fpm", paused("php-fpm"), (shows("up", service="php-fpm"),)),
            Fault(
                "comments-locked",
                "database_lock",
                "mariadb",
                mariadb.held("BEGIN; SELECT * FROM wp_comments FOR UPDATE; SELECT SLEEP(900);", "wordpress"),
                (
                    shows("db_lock_waits", database="mysql"),
                    shows("db_row_lock_waits", database="mysql"),
                    leads("db_connections", database="mysql"),
                    leads("pool_use", service="php-fpm"),
                ),
            ),
            Fault(
                "slow-plugin",
                "bad_release",
                "php-fpm",
                _plugin("related-posts", _SLOW_PLUGIN),
                (
                    shows("db_scanned_rows", database="mysql"),
                    shows("cpu", container="mariadbd"),
                    leads("pool_use", service="php-fpm"),
                    leads("db_active", database="mysql"),
                ),
            ),
            Fault(
                "connections-used-up",
                "connection_leak",
                "mariadb",
                mariadb.used_up(60),
                (
                    shows("db_connections_used", database="mysql"),
                    shows("db_connections", database="mysql"),
                    leads("db_refused", database="mysql"),
                ),
            ),
            Fault("disk-full", "disk_full", "mysql-data", _fill, (shows("disk_used", volume="*mysql-data"),), _is_full),
            Fault(
                "packets-lost",
                "packet_loss",
                "mariadb",
                lost(3306, 0.25),
                (shows("retransmits", container="node"), shows("failed_connections", container="node")),
            ),
            Fault(
                "nginx-killed",
                "process_killed",
                "nginx",
                killed("nginx"),
                (shows("up", service="nginx"), shows("memory", container="nginx"), shows("processes", container="nginx")),
            ),
            Fault(
                "wrong-password",
                "wrong_configuration",
                "php-fpm",
                _wrong_password,
                (shows("db_refused", database="mysql"), leads("db_transactions", database="mysql")),
            ),
            Fault("database-refuses", "refused_connection", "mariadb", refused(3306), (shows("db_up", database="mysql"),)),
        )


def _set_up() -> None:
    form = {
        "weblog_title": "Notes from the allotment",
        "user_name": "editor",
        "admin_password": "a-long-pass-phrase-9",
        "admin_password2": "a-long-pass-phrase-9",
        "admin_email": "editor@example.org",
        "language": "",
    }
    answer = httpx.post(f"{SITE}/wp-admin/install.php", params={"step": "2"}, data=form, timeout=60.0)
    assert answer.status_code == 200, answer.text[:300]


def _comment(client: httpx.Client) -> httpx.Response:
    name = f"reader{random.randrange(10_000)}"
    form = {
        "comment": f"Thank you, {name} {random.random()}",
        "author": name,
        "email": f"{name}@example.org",
        "comment_post_ID": "1",
        "url": "",
        "comment_parent": "0",
    }
    return client.post("/wp-comments-post.php", data=form, follow_redirects=False)


def _plugin(name: str, code: str) -> Callable[[Machine], Undo]:
    def begin(machine: Machine) -> Undo:
        folder = machine.folder / "site" / "wp-content" / "mu-plugins"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.php").write_text(code, encoding="utf-8")
        return (folder / f"{name}.php").unlink

    return begin


def _fill(machine: Machine) -> Undo:
    return filled(machine.folder / "mysql-data")


def _is_full(machine: Machine) -> str:
    left = shutil.disk_usage(machine.folder / "mysql-data").free
    return f"{left} bytes are left" if left < 1_000_000 else ""


def _wrong_password(machine: Machine) -> Undo:
    config = machine.folder / "site" / "wp-config.php"
    config.write_text(_CONFIG.replace("'DB_PASSWORD', 'app'", "'DB_PASSWORD', 'changed'"), encoding="utf-8")
    return lambda: config.write_text(_CONFIG, encoding="utf-8")
