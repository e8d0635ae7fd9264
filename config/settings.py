"""Django's settings. What differs between machines comes from the environment (`config.env`)."""

from __future__ import annotations

import sys

from csp.constants import NONCE, NONE, SELF

from config import env as environment
from config import rest
from config.logging import logging_config
from tandem.version import COMMIT, VERSION

BASE_DIR = environment.BASE_DIR
DEBUG = environment.flag("DEBUG")
DATA_DIR, _CLOSED = environment.private_data_dir()
if _CLOSED:
    print(_CLOSED, file=sys.stderr)
PLAIN_HTTP = DEBUG or environment.flag("TANDEM_PLAIN_HTTP")
SECRET_KEY = environment.secret_key(DEBUG, PLAIN_HTTP, DATA_DIR)
PROXIES = environment.whole_number("TANDEM_PROXIES", least=0)
ALLOWED_HOSTS = environment.words(
    "ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]" if PLAIN_HTTP else ""
)
CSRF_TRUSTED_ORIGINS = environment.words("CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "config.apps.StaticFiles",
    "django_htmx",
    "rest_framework",
    "knox",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "csp",
    "audit",
    "datasets",
    "annotation",
    "judging",
    "analysis",
]

MIDDLEWARE = [
    "config.health.Health",
    "config.middleware.request_ids",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.middleware.headers",
    "config.middleware.BodyGuard",
    "config.middleware.Timeouts",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "config.middleware.session_limits",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.login_guard.log_in_waits",
    "allauth.account.middleware.AccountMiddleware",
    "annotation.people.languages.languages",
    "annotation.people.second_factor.Required",
    "config.middleware.audit_actor",
    "config.middleware.guard_of_long_work",
    "annotation.people.login_limits.devices",
    "config.middleware.ledger_of_looks",
    "config.middleware.missing_pages",
    "config.middleware.DatabaseAway",
    "config.middleware.ItemsChanged",
    "datasets.elsewhere.LeavesToOthers",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
ASGI_APPLICATION = "config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "config.context.csp_nonce",
                "config.context.product",
                "datasets.access.teams_shown",
            ],
        },
    },
]

DATABASES = {"default": environment.database(DATA_DIR)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "annotation.User"
AUTHENTICATION_BACKENDS = [
    "config.login_guard.LogInGuard",
    "django.contrib.auth.backends.ModelBackend",
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

# The number of wrong passwords and codes before waits begin, by what they are counted for
# (annotation.people.login_limits). A lecture room of 60 people may share an address.
LOGIN_TRIES = {
    "address": 10,
    "device": 10,
    "account": 100,
    "network": 300,
    "code": 10,
    "codes": 30,
}

_SSO = environment.single_sign_on()
TANDEM_OIDC_ISSUER, TANDEM_OIDC_NAME = _SSO["issuer"], _SSO["name"]
TANDEM_OIDC_NEWCOMERS = environment.one_of(
    "TANDEM_OIDC_NEWCOMERS", "none", "none", "annotator", "researcher"
)
TANDEM_PASSWORDS = environment.passwords(TANDEM_OIDC_ISSUER)
TANDEM_SECOND_FACTOR = environment.roles("TANDEM_SECOND_FACTOR")
# Log-in links are valid for ten minutes; nothing else uses this.
PASSWORD_RESET_TIMEOUT = 600

ACCOUNT_ADAPTER = "config.adapters.AccountAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*"]
# The site's own limits apply instead (annotation.people.login_limits).
ACCOUNT_RATE_LIMITS = False
SOCIALACCOUNT_ADAPTER = "config.adapters.SingleSignOnAdapter"
SOCIALACCOUNT_REAUTHENTICATION_REQUIRED = True
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "sso",
                "name": TANDEM_OIDC_NAME,
                "client_id": _SSO["client"],
                "secret": _SSO["secret"],
                "settings": {"server_url": TANDEM_OIDC_ISSUER},
            }
        ]
        if TANDEM_OIDC_ISSUER
        else [],
    }
}
MFA_ADAPTER = "config.adapters.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_TOLERANCE = 1
MFA_FORMS = {
    "authenticate": "annotation.views.second_factor.CodeForm",
    "reauthenticate": "annotation.views.second_factor.ConfirmCodeForm",
}

# All processes share computed reports; each is a few megabytes at most.
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "reports": {
        "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
        "LOCATION": DATA_DIR / "reports",
        "TIMEOUT": 7 * 24 * 3600,
        "OPTIONS": {"MAX_ENTRIES": 60},
    },
    # Labels of the lexical rule, which never change and are slow to compute for a large batch.
    "floors": {
        "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
        "LOCATION": DATA_DIR / "floors",
        "TIMEOUT": None,
        "OPTIONS": {"MAX_ENTRIES": 200},
    },
}

LANGUAGE_CODE = "en"
# Annotators' pages only (annotation/people/languages.py). A language is listed once its catalogue
# is complete.
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = environment.time_zone()
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = environment.static_dir(DATA_DIR)
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "config.context.HashedFiles",
        # A proxy may read these, unlike all else that the site writes.
        "OPTIONS": {"file_permissions_mode": 0o644, "directory_permissions_mode": 0o755},
    },
}

SESSION_ENGINE = "config.sessions"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 7 * 24 * 3600
SESSION_COOKIE_SECURE = not PLAIN_HTTP
CSRF_COOKIE_SECURE = not PLAIN_HTTP
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_SSL_REDIRECT = not PLAIN_HTTP
SECURE_HSTS_SECONDS = 0 if PLAIN_HTTP else 365 * 24 * 3600
SECURE_HSTS_INCLUDE_SUBDOMAINS = not PLAIN_HTTP
SECURE_HSTS_PRELOAD = not PLAIN_HTTP
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if PROXIES else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, NONCE],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

REST_FRAMEWORK = rest.REST_FRAMEWORK
REST_KNOX = rest.REST_KNOX
SPECTACULAR_SETTINGS = rest.spectacular(VERSION)
API_EXAMPLES = BASE_DIR / "config" / "examples.json"

LOG_FORMAT = environment.one_of("TANDEM_LOG_FORMAT", "text" if DEBUG else "json", "json", "text")
LOGGING = logging_config(LOG_FORMAT)

_BROKER = environment.broker(DATA_DIR)
CELERY_BROKER_URL = _BROKER["url"]
TANDEM_WITH_WORKERS = environment.flag("TANDEM_WITH_WORKERS")
CELERY_BROKER_TRANSPORT_OPTIONS = _BROKER["options"]
CELERY_RESULT_BACKEND = environment.read("CELERY_RESULT_BACKEND") or None
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_MAX_TASKS_PER_CHILD = 50
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "judging.tasks.sweep", "schedule": 15.0, "options": {"expires": 15}},
    "uploads": {"task": "datasets.tasks.clean_uploads", "schedule": 3600.0},
    "answers": {"task": "datasets.tasks.forget_answers", "schedule": 3600.0},
    "audit": {
        "task": "annotation.tasks.seal_audit",
        "schedule": 900.0,
        "options": {"expires": 900},
    },
}
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "beat")
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True

TANDEM_VERSION = VERSION
# The function that reads the labels behind a derived batch again, by kind of lineage:
# `datasets.lineage`.
TANDEM_LINEAGE_READERS = {
    "rule": "annotation.derivation.service.read_again",
    "step": "judging.preparation.build.read_again",
}
TANDEM_COMMIT = environment.read("TANDEM_COMMIT") or COMMIT
TANDEM_MAX_UPLOAD_MB = environment.whole_number("TANDEM_MAX_UPLOAD_MB")
TANDEM_JOB_PLACES = environment.whole_number("TANDEM_JOB_PLACES")
TANDEM_JOB_MEMORY_MB = environment.whole_number("TANDEM_JOB_MEMORY_MB")
TANDEM_JOB_RESULTS_MB = environment.whole_number("TANDEM_JOB_RESULTS_MB")
# Tests that are not about the queue carry out jobs where they are asked for.
JOBS_EAGER = False
# A request that does a worker's work is logged; in tests it fails.
JOBS_STRICT = False
# The number of threads of a web process that may wait for a job; the others keep answering.
JOB_WAITS = max(1, environment.whole_number("WEB_OTHER_THREADS") // 3)
TANDEM_PROLIFIC_KEYS = environment.address("TANDEM_PROLIFIC_KEYS")
TANDEM_JUDGE_HOSTS = environment.words("TANDEM_JUDGE_HOSTS")
# The same disk as the quarantine, so that a received file need not be copied.
FILE_UPLOAD_TEMP_DIR = environment.create_folder(DATA_DIR / "uploads" / "incoming")
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
FILE_UPLOAD_PERMISSIONS = 0o600
LONGEST_JSON = 5 * 1024 * 1024 // 2
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000
